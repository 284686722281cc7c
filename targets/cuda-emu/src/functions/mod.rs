//! The driver's functions by name.

pub mod export;

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::LazyLock;

use emu_driver::calls;

/// Calls a macro with the lists of all functions of CUDA 12.9: those that are there; those with a stream or a default
/// stream, with the name for the default stream of the calling thread; and those that are not supported.
#[macro_export]
macro_rules! driver_functions {
    ($use:path) => {
        $use! {
            functions {
                cuCtxCreate_v2: $crate::api::current::cuCtxCreate_v2;
                cuCtxCreate_v3: $crate::api::current::cuCtxCreate_v3;
                cuCtxCreate_v4: $crate::api::current::cuCtxCreate_v4;
                cuCtxDestroy_v2: $crate::api::current::cuCtxDestroy_v2;
                cuCtxDisablePeerAccess: $crate::api::device::cuCtxDisablePeerAccess;
                cuCtxEnablePeerAccess: $crate::api::device::cuCtxEnablePeerAccess;
                cuCtxGetApiVersion: $crate::api::current::cuCtxGetApiVersion;
                cuCtxGetCacheConfig: $crate::api::current::cuCtxGetCacheConfig;
                cuCtxGetCurrent: $crate::api::current::cuCtxGetCurrent;
                cuCtxGetDevice: $crate::api::current::cuCtxGetDevice;
                cuCtxGetFlags: $crate::api::current::cuCtxGetFlags;
                cuCtxGetId: $crate::api::current::cuCtxGetId;
                cuCtxGetLimit: $crate::api::current::cuCtxGetLimit;
                cuCtxGetStreamPriorityRange: $crate::api::current::cuCtxGetStreamPriorityRange;
                cuCtxPopCurrent_v2: $crate::api::current::cuCtxPopCurrent_v2;
                cuCtxPushCurrent_v2: $crate::api::current::cuCtxPushCurrent_v2;
                cuCtxResetPersistingL2Cache: $crate::api::current::cuCtxResetPersistingL2Cache;
                cuCtxSetCacheConfig: $crate::api::current::cuCtxSetCacheConfig;
                cuCtxSetCurrent: $crate::api::current::cuCtxSetCurrent;
                cuCtxSetLimit: $crate::api::current::cuCtxSetLimit;
                cuCtxSynchronize: $crate::api::current::cuCtxSynchronize;
                cuDeviceCanAccessPeer: $crate::api::device::cuDeviceCanAccessPeer;
                cuDeviceComputeCapability: $crate::api::device::cuDeviceComputeCapability;
                cuDeviceGet: $crate::api::device::cuDeviceGet;
                cuDeviceGetAttribute: $crate::api::device::cuDeviceGetAttribute;
                cuDeviceGetByPCIBusId: $crate::api::device::cuDeviceGetByPCIBusId;
                cuDeviceGetCount: $crate::api::device::cuDeviceGetCount;
                cuDeviceGetDefaultMemPool: $crate::api::pool::cuDeviceGetDefaultMemPool;
                cuDeviceGetExecAffinitySupport: $crate::api::device::cuDeviceGetExecAffinitySupport;
                cuDeviceGetMemPool: $crate::api::pool::cuDeviceGetMemPool;
                cuDeviceGetName: $crate::api::device::cuDeviceGetName;
                cuDeviceGetP2PAttribute: $crate::api::device::cuDeviceGetP2PAttribute;
                cuDeviceGetPCIBusId: $crate::api::device::cuDeviceGetPCIBusId;
                cuDeviceGetUuid: $crate::api::device::cuDeviceGetUuid_v2;
                cuDeviceGetUuid_v2: $crate::api::device::cuDeviceGetUuid_v2;
                cuDevicePrimaryCtxGetState: $crate::api::primary::cuDevicePrimaryCtxGetState;
                cuDevicePrimaryCtxRelease_v2: $crate::api::primary::cuDevicePrimaryCtxRelease_v2;
                cuDevicePrimaryCtxReset_v2: $crate::api::primary::cuDevicePrimaryCtxReset_v2;
                cuDevicePrimaryCtxRetain: $crate::api::primary::cuDevicePrimaryCtxRetain;
                cuDevicePrimaryCtxSetFlags_v2: $crate::api::primary::cuDevicePrimaryCtxSetFlags_v2;
                cuDeviceSetMemPool: $crate::api::pool::cuDeviceSetMemPool;
                cuDeviceTotalMem_v2: $crate::api::device::cuDeviceTotalMem_v2;
                cuDriverGetVersion: $crate::api::init::cuDriverGetVersion;
                cuEventCreate: $crate::api::event::cuEventCreate;
                cuEventDestroy_v2: $crate::api::event::cuEventDestroy_v2;
                cuEventElapsedTime: $crate::api::event::cuEventElapsedTime;
                cuEventElapsedTime_v2: $crate::api::event::cuEventElapsedTime_v2;
                cuEventQuery: $crate::api::event::cuEventQuery;
                cuEventSynchronize: $crate::api::event::cuEventSynchronize;
                cuFuncGetAttribute: $crate::api::function::cuFuncGetAttribute;
                cuFuncGetModule: $crate::api::module::cuFuncGetModule;
                cuFuncGetName: $crate::api::module::cuFuncGetName;
                cuFuncGetParamInfo: $crate::api::function::cuFuncGetParamInfo;
                cuFuncIsLoaded: $crate::api::function::cuFuncIsLoaded;
                cuFuncLoad: $crate::api::function::cuFuncLoad;
                cuFuncSetAttribute: $crate::api::function::cuFuncSetAttribute;
                cuFuncSetCacheConfig: $crate::api::function::cuFuncSetCacheConfig;
                cuGetErrorName: $crate::api::error::cuGetErrorName;
                cuGetErrorString: $crate::api::error::cuGetErrorString;
                cuGetExportTable: $crate::functions::export::cuGetExportTable;
                cuGetProcAddress: $crate::functions::export::cuGetProcAddress;
                cuGetProcAddress_v2: $crate::functions::export::cuGetProcAddress_v2;
                cuInit: $crate::api::init::cuInit;
                cuKernelGetAttribute: $crate::api::function::cuKernelGetAttribute;
                cuKernelGetFunction: $crate::api::library::cuKernelGetFunction;
                cuKernelGetLibrary: $crate::api::library::cuKernelGetLibrary;
                cuKernelGetName: $crate::api::library::cuKernelGetName;
                cuKernelSetAttribute: $crate::api::function::cuKernelSetAttribute;
                cuLibraryEnumerateKernels: $crate::api::library::cuLibraryEnumerateKernels;
                cuLibraryGetGlobal: $crate::api::library::cuLibraryGetGlobal;
                cuLibraryGetKernel: $crate::api::library::cuLibraryGetKernel;
                cuLibraryGetKernelCount: $crate::api::library::cuLibraryGetKernelCount;
                cuLibraryGetModule: $crate::api::library::cuLibraryGetModule;
                cuLibraryLoadData: $crate::api::library::cuLibraryLoadData;
                cuLibraryLoadFromFile: $crate::api::library::cuLibraryLoadFromFile;
                cuLibraryUnload: $crate::api::library::cuLibraryUnload;
                cuLinkAddData_v2: $crate::api::link::cuLinkAddData_v2;
                cuLinkAddFile_v2: $crate::api::link::cuLinkAddFile_v2;
                cuLinkComplete: $crate::api::link::cuLinkComplete;
                cuLinkCreate_v2: $crate::api::link::cuLinkCreate_v2;
                cuLinkDestroy: $crate::api::link::cuLinkDestroy;
                cuMemAdvise: $crate::api::memory::cuMemAdvise;
                cuMemAdvise_v2: $crate::api::memory::cuMemAdvise_v2;
                cuMemAllocHost_v2: $crate::api::memory::cuMemAllocHost_v2;
                cuMemAllocManaged: $crate::api::memory::cuMemAllocManaged;
                cuMemAllocPitch_v2: $crate::api::memory::cuMemAllocPitch_v2;
                cuMemAlloc_v2: $crate::api::memory::cuMemAlloc_v2;
                cuMemFreeHost: $crate::api::memory::cuMemFreeHost;
                cuMemFree_v2: $crate::api::memory::cuMemFree_v2;
                cuMemGetAddressRange_v2: $crate::api::memory::cuMemGetAddressRange_v2;
                cuMemGetInfo_v2: $crate::api::memory::cuMemGetInfo_v2;
                cuMemHostAlloc: $crate::api::memory::cuMemHostAlloc;
                cuMemHostGetDevicePointer_v2: $crate::api::memory::cuMemHostGetDevicePointer_v2;
                cuMemHostGetFlags: $crate::api::memory::cuMemHostGetFlags;
                cuMemHostRegister_v2: $crate::api::memory::cuMemHostRegister_v2;
                cuMemHostUnregister: $crate::api::memory::cuMemHostUnregister;
                cuMemPoolCreate: $crate::api::pool::cuMemPoolCreate;
                cuMemPoolDestroy: $crate::api::pool::cuMemPoolDestroy;
                cuMemPoolGetAccess: $crate::api::pool::cuMemPoolGetAccess;
                cuMemPoolGetAttribute: $crate::api::pool::cuMemPoolGetAttribute;
                cuMemPoolSetAccess: $crate::api::pool::cuMemPoolSetAccess;
                cuMemPoolSetAttribute: $crate::api::pool::cuMemPoolSetAttribute;
                cuMemPoolTrimTo: $crate::api::pool::cuMemPoolTrimTo;
                cuModuleEnumerateFunctions: $crate::api::module::cuModuleEnumerateFunctions;
                cuModuleGetFunction: $crate::api::module::cuModuleGetFunction;
                cuModuleGetFunctionCount: $crate::api::module::cuModuleGetFunctionCount;
                cuModuleGetGlobal_v2: $crate::api::module::cuModuleGetGlobal_v2;
                cuModuleGetLoadingMode: $crate::api::module::cuModuleGetLoadingMode;
                cuModuleLoad: $crate::api::module::cuModuleLoad;
                cuModuleLoadData: $crate::api::module::cuModuleLoadData;
                cuModuleLoadDataEx: $crate::api::module::cuModuleLoadDataEx;
                cuModuleLoadFatBinary: $crate::api::module::cuModuleLoadFatBinary;
                cuModuleUnload: $crate::api::module::cuModuleUnload;
                cuOccupancyAvailableDynamicSMemPerBlock: $crate::api::function::cuOccupancyAvailableDynamicSMemPerBlock;
                cuOccupancyMaxActiveBlocksPerMultiprocessor: $crate::api::function::cuOccupancyMaxActiveBlocksPerMultiprocessor;
                cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags: $crate::api::function::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags;
                cuOccupancyMaxPotentialBlockSize: $crate::api::function::cuOccupancyMaxPotentialBlockSize;
                cuOccupancyMaxPotentialBlockSizeWithFlags: $crate::api::function::cuOccupancyMaxPotentialBlockSizeWithFlags;
                cuPointerGetAttribute: $crate::api::pointer::cuPointerGetAttribute;
                cuPointerGetAttributes: $crate::api::pointer::cuPointerGetAttributes;
                cuPointerSetAttribute: $crate::api::pointer::cuPointerSetAttribute;
                cuProfilerStart: $crate::api::current::cuProfilerStart;
                cuProfilerStop: $crate::api::current::cuProfilerStop;
                cuStreamCreate: $crate::api::stream::cuStreamCreate;
                cuStreamCreateWithPriority: $crate::api::stream::cuStreamCreateWithPriority;
                cuStreamDestroy_v2: $crate::api::stream::cuStreamDestroy_v2;
                cuThreadExchangeStreamCaptureMode: $crate::api::stream::cuThreadExchangeStreamCaptureMode;
            }
            streams {
                cuEventRecord, cuEventRecord_ptsz: $crate::api::event::cuEventRecord;
                cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz: $crate::api::event::cuEventRecordWithFlags;
                cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz: $crate::api::launch::cuLaunchCooperativeKernel;
                cuLaunchHostFunc, cuLaunchHostFunc_ptsz: $crate::api::callback::cuLaunchHostFunc;
                cuLaunchKernel, cuLaunchKernel_ptsz: $crate::api::launch::cuLaunchKernel;
                cuLaunchKernelEx, cuLaunchKernelEx_ptsz: $crate::api::launch::cuLaunchKernelEx;
                cuMemAllocAsync, cuMemAllocAsync_ptsz: $crate::api::pool::cuMemAllocAsync;
                cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz: $crate::api::pool::cuMemAllocFromPoolAsync;
                cuMemFreeAsync, cuMemFreeAsync_ptsz: $crate::api::pool::cuMemFreeAsync;
                cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz: $crate::api::memory::cuMemPrefetchAsync;
                cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_ptsz: $crate::api::memory::cuMemPrefetchAsync_v2;
                cuMemcpy, cuMemcpy_ptds: $crate::api::copy::line::cuMemcpy;
                cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz: $crate::api::copy::rows::cuMemcpy2DAsync_v2;
                cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds: $crate::api::copy::rows::cuMemcpy2DUnaligned_v2;
                cuMemcpy2D_v2, cuMemcpy2D_v2_ptds: $crate::api::copy::rows::cuMemcpy2D_v2;
                cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz: $crate::api::copy::rows::cuMemcpy3DAsync_v2;
                cuMemcpy3D_v2, cuMemcpy3D_v2_ptds: $crate::api::copy::rows::cuMemcpy3D_v2;
                cuMemcpyAsync, cuMemcpyAsync_ptsz: $crate::api::copy::line::cuMemcpyAsync;
                cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz: $crate::api::copy::line::cuMemcpyDtoDAsync_v2;
                cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds: $crate::api::copy::line::cuMemcpyDtoD_v2;
                cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz: $crate::api::copy::line::cuMemcpyDtoHAsync_v2;
                cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds: $crate::api::copy::line::cuMemcpyDtoH_v2;
                cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz: $crate::api::copy::line::cuMemcpyHtoDAsync_v2;
                cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds: $crate::api::copy::line::cuMemcpyHtoD_v2;
                cuMemcpyPeer, cuMemcpyPeer_ptds: $crate::api::copy::line::cuMemcpyPeer;
                cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz: $crate::api::copy::line::cuMemcpyPeerAsync;
                cuMemsetD16Async, cuMemsetD16Async_ptsz: $crate::api::copy::set::cuMemsetD16Async;
                cuMemsetD16_v2, cuMemsetD16_v2_ptds: $crate::api::copy::set::cuMemsetD16_v2;
                cuMemsetD2D16Async, cuMemsetD2D16Async_ptsz: $crate::api::copy::set::cuMemsetD2D16Async;
                cuMemsetD2D16_v2, cuMemsetD2D16_v2_ptds: $crate::api::copy::set::cuMemsetD2D16_v2;
                cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz: $crate::api::copy::set::cuMemsetD2D32Async;
                cuMemsetD2D32_v2, cuMemsetD2D32_v2_ptds: $crate::api::copy::set::cuMemsetD2D32_v2;
                cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz: $crate::api::copy::set::cuMemsetD2D8Async;
                cuMemsetD2D8_v2, cuMemsetD2D8_v2_ptds: $crate::api::copy::set::cuMemsetD2D8_v2;
                cuMemsetD32Async, cuMemsetD32Async_ptsz: $crate::api::copy::set::cuMemsetD32Async;
                cuMemsetD32_v2, cuMemsetD32_v2_ptds: $crate::api::copy::set::cuMemsetD32_v2;
                cuMemsetD8Async, cuMemsetD8Async_ptsz: $crate::api::copy::set::cuMemsetD8Async;
                cuMemsetD8_v2, cuMemsetD8_v2_ptds: $crate::api::copy::set::cuMemsetD8_v2;
                cuStreamAddCallback, cuStreamAddCallback_ptsz: $crate::api::callback::cuStreamAddCallback;
                cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2_ptsz: $crate::api::stream::cuStreamGetCaptureInfo_v2;
                cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3_ptsz: $crate::api::stream::cuStreamGetCaptureInfo_v3;
                cuStreamGetCtx, cuStreamGetCtx_ptsz: $crate::api::stream::cuStreamGetCtx;
                cuStreamGetCtx_v2, cuStreamGetCtx_v2_ptsz: $crate::api::stream::cuStreamGetCtx_v2;
                cuStreamGetFlags, cuStreamGetFlags_ptsz: $crate::api::stream::cuStreamGetFlags;
                cuStreamGetId, cuStreamGetId_ptsz: $crate::api::stream::cuStreamGetId;
                cuStreamGetPriority, cuStreamGetPriority_ptsz: $crate::api::stream::cuStreamGetPriority;
                cuStreamIsCapturing, cuStreamIsCapturing_ptsz: $crate::api::stream::cuStreamIsCapturing;
                cuStreamQuery, cuStreamQuery_ptsz: $crate::api::stream::cuStreamQuery;
                cuStreamSynchronize, cuStreamSynchronize_ptsz: $crate::api::stream::cuStreamSynchronize;
                cuStreamWaitEvent, cuStreamWaitEvent_ptsz: $crate::api::stream::cuStreamWaitEvent;
                cuStreamWaitValue32_v2, cuStreamWaitValue32_v2_ptsz: $crate::api::callback::cuStreamWaitValue32_v2;
                cuStreamWaitValue64_v2, cuStreamWaitValue64_v2_ptsz: $crate::api::callback::cuStreamWaitValue64_v2;
                cuStreamWriteValue32_v2, cuStreamWriteValue32_v2_ptsz: $crate::api::callback::cuStreamWriteValue32_v2;
                cuStreamWriteValue64_v2, cuStreamWriteValue64_v2_ptsz: $crate::api::callback::cuStreamWriteValue64_v2;
            }
            unsupported {
                cuArray3DCreate;
                cuArray3DCreate_v2;
                cuArray3DGetDescriptor;
                cuArray3DGetDescriptor_v2;
                cuArrayCreate;
                cuArrayCreate_v2;
                cuArrayDestroy;
                cuArrayGetDescriptor;
                cuArrayGetDescriptor_v2;
                cuArrayGetMemoryRequirements;
                cuArrayGetPlane;
                cuArrayGetSparseProperties;
                cuCheckpointProcessCheckpoint;
                cuCheckpointProcessGetRestoreThreadId;
                cuCheckpointProcessGetState;
                cuCheckpointProcessLock;
                cuCheckpointProcessRestore;
                cuCheckpointProcessUnlock;
                cuCoredumpGetAttribute;
                cuCoredumpGetAttributeGlobal;
                cuCoredumpSetAttribute;
                cuCoredumpSetAttributeGlobal;
                cuCtxAttach;
                cuCtxCreate;
                cuCtxDestroy;
                cuCtxDetach;
                cuCtxFromGreenCtx;
                cuCtxGetDevResource;
                cuCtxGetExecAffinity;
                cuCtxGetSharedMemConfig;
                cuCtxPopCurrent;
                cuCtxPushCurrent;
                cuCtxRecordEvent;
                cuCtxSetFlags;
                cuCtxSetSharedMemConfig;
                cuCtxWaitEvent;
                cuDestroyExternalMemory;
                cuDestroyExternalSemaphore;
                cuDevResourceGenerateDesc;
                cuDevSmResourceSplitByCount;
                cuDeviceGetDevResource;
                cuDeviceGetGraphMemAttribute;
                cuDeviceGetLuid;
                cuDeviceGetNvSciSyncAttributes;
                cuDeviceGetProperties;
                cuDeviceGetTexture1DLinearMaxWidth;
                cuDeviceGraphMemTrim;
                cuDevicePrimaryCtxRelease;
                cuDevicePrimaryCtxReset;
                cuDevicePrimaryCtxSetFlags;
                cuDeviceRegisterAsyncNotification;
                cuDeviceSetGraphMemAttribute;
                cuDeviceTotalMem;
                cuDeviceUnregisterAsyncNotification;
                cuEventDestroy;
                cuExternalMemoryGetMappedBuffer;
                cuExternalMemoryGetMappedMipmappedArray;
                cuFlushGPUDirectRDMAWrites;
                cuFuncSetBlockShape;
                cuFuncSetSharedMemConfig;
                cuFuncSetSharedSize;
                cuGraphAddBatchMemOpNode;
                cuGraphAddChildGraphNode;
                cuGraphAddDependencies;
                cuGraphAddDependencies_v2;
                cuGraphAddEmptyNode;
                cuGraphAddEventRecordNode;
                cuGraphAddEventWaitNode;
                cuGraphAddExternalSemaphoresSignalNode;
                cuGraphAddExternalSemaphoresWaitNode;
                cuGraphAddHostNode;
                cuGraphAddKernelNode;
                cuGraphAddKernelNode_v2;
                cuGraphAddMemAllocNode;
                cuGraphAddMemFreeNode;
                cuGraphAddMemcpyNode;
                cuGraphAddMemsetNode;
                cuGraphAddNode;
                cuGraphAddNode_v2;
                cuGraphBatchMemOpNodeGetParams;
                cuGraphBatchMemOpNodeSetParams;
                cuGraphChildGraphNodeGetGraph;
                cuGraphClone;
                cuGraphConditionalHandleCreate;
                cuGraphCreate;
                cuGraphDebugDotPrint;
                cuGraphDestroy;
                cuGraphDestroyNode;
                cuGraphEventRecordNodeGetEvent;
                cuGraphEventRecordNodeSetEvent;
                cuGraphEventWaitNodeGetEvent;
                cuGraphEventWaitNodeSetEvent;
                cuGraphExecBatchMemOpNodeSetParams;
                cuGraphExecChildGraphNodeSetParams;
                cuGraphExecDestroy;
                cuGraphExecEventRecordNodeSetEvent;
                cuGraphExecEventWaitNodeSetEvent;
                cuGraphExecExternalSemaphoresSignalNodeSetParams;
                cuGraphExecExternalSemaphoresWaitNodeSetParams;
                cuGraphExecGetFlags;
                cuGraphExecHostNodeSetParams;
                cuGraphExecKernelNodeSetParams;
                cuGraphExecKernelNodeSetParams_v2;
                cuGraphExecMemcpyNodeSetParams;
                cuGraphExecMemsetNodeSetParams;
                cuGraphExecNodeSetParams;
                cuGraphExecUpdate;
                cuGraphExecUpdate_v2;
                cuGraphExternalSemaphoresSignalNodeGetParams;
                cuGraphExternalSemaphoresSignalNodeSetParams;
                cuGraphExternalSemaphoresWaitNodeGetParams;
                cuGraphExternalSemaphoresWaitNodeSetParams;
                cuGraphGetEdges;
                cuGraphGetEdges_v2;
                cuGraphGetNodes;
                cuGraphGetRootNodes;
                cuGraphHostNodeGetParams;
                cuGraphHostNodeSetParams;
                cuGraphInstantiate;
                cuGraphInstantiateWithParams;
                cuGraphInstantiateWithParams_ptsz;
                cuGraphInstantiate_v2;
                cuGraphKernelNodeCopyAttributes;
                cuGraphKernelNodeGetAttribute;
                cuGraphKernelNodeGetParams;
                cuGraphKernelNodeGetParams_v2;
                cuGraphKernelNodeSetAttribute;
                cuGraphKernelNodeSetParams;
                cuGraphKernelNodeSetParams_v2;
                cuGraphLaunch;
                cuGraphLaunch_ptsz;
                cuGraphMemAllocNodeGetParams;
                cuGraphMemFreeNodeGetParams;
                cuGraphMemcpyNodeGetParams;
                cuGraphMemcpyNodeSetParams;
                cuGraphMemsetNodeGetParams;
                cuGraphMemsetNodeSetParams;
                cuGraphNodeFindInClone;
                cuGraphNodeGetDependencies;
                cuGraphNodeGetDependencies_v2;
                cuGraphNodeGetDependentNodes;
                cuGraphNodeGetDependentNodes_v2;
                cuGraphNodeGetEnabled;
                cuGraphNodeGetType;
                cuGraphNodeSetEnabled;
                cuGraphNodeSetParams;
                cuGraphReleaseUserObject;
                cuGraphRemoveDependencies;
                cuGraphRemoveDependencies_v2;
                cuGraphRetainUserObject;
                cuGraphUpload;
                cuGraphUpload_ptsz;
                cuGraphicsMapResources;
                cuGraphicsMapResources_ptsz;
                cuGraphicsResourceGetMappedMipmappedArray;
                cuGraphicsResourceGetMappedPointer;
                cuGraphicsResourceGetMappedPointer_v2;
                cuGraphicsResourceSetMapFlags;
                cuGraphicsResourceSetMapFlags_v2;
                cuGraphicsSubResourceGetMappedArray;
                cuGraphicsUnmapResources;
                cuGraphicsUnmapResources_ptsz;
                cuGraphicsUnregisterResource;
                cuGreenCtxCreate;
                cuGreenCtxDestroy;
                cuGreenCtxGetDevResource;
                cuGreenCtxRecordEvent;
                cuGreenCtxStreamCreate;
                cuGreenCtxWaitEvent;
                cuImportExternalMemory;
                cuImportExternalSemaphore;
                cuIpcCloseMemHandle;
                cuIpcGetEventHandle;
                cuIpcGetMemHandle;
                cuIpcOpenEventHandle;
                cuIpcOpenMemHandle;
                cuIpcOpenMemHandle_v2;
                cuKernelGetParamInfo;
                cuKernelSetCacheConfig;
                cuLaunch;
                cuLaunchCooperativeKernelMultiDevice;
                cuLaunchGrid;
                cuLaunchGridAsync;
                cuLibraryGetManaged;
                cuLibraryGetUnifiedFunction;
                cuLinkAddData;
                cuLinkAddFile;
                cuLinkCreate;
                cuLogsCurrent;
                cuLogsDumpToFile;
                cuLogsDumpToMemory;
                cuLogsRegisterCallback;
                cuLogsUnregisterCallback;
                cuMemAddressFree;
                cuMemAddressReserve;
                cuMemAlloc;
                cuMemAllocHost;
                cuMemAllocPitch;
                cuMemBatchDecompressAsync;
                cuMemBatchDecompressAsync_ptsz;
                cuMemCreate;
                cuMemExportToShareableHandle;
                cuMemFree;
                cuMemGetAccess;
                cuMemGetAddressRange;
                cuMemGetAllocationGranularity;
                cuMemGetAllocationPropertiesFromHandle;
                cuMemGetHandleForAddressRange;
                cuMemGetInfo;
                cuMemHostGetDevicePointer;
                cuMemHostRegister;
                cuMemImportFromShareableHandle;
                cuMemMap;
                cuMemMapArrayAsync;
                cuMemMapArrayAsync_ptsz;
                cuMemPoolExportPointer;
                cuMemPoolExportToShareableHandle;
                cuMemPoolImportFromShareableHandle;
                cuMemPoolImportPointer;
                cuMemRangeGetAttribute;
                cuMemRangeGetAttributes;
                cuMemRelease;
                cuMemRetainAllocationHandle;
                cuMemSetAccess;
                cuMemUnmap;
                cuMemcpy2D;
                cuMemcpy2DAsync;
                cuMemcpy2DUnaligned;
                cuMemcpy3D;
                cuMemcpy3DAsync;
                cuMemcpy3DBatchAsync;
                cuMemcpy3DBatchAsync_ptsz;
                cuMemcpy3DPeer;
                cuMemcpy3DPeerAsync;
                cuMemcpy3DPeerAsync_ptsz;
                cuMemcpy3DPeer_ptds;
                cuMemcpyAtoA;
                cuMemcpyAtoA_v2;
                cuMemcpyAtoA_v2_ptds;
                cuMemcpyAtoD;
                cuMemcpyAtoD_v2;
                cuMemcpyAtoD_v2_ptds;
                cuMemcpyAtoH;
                cuMemcpyAtoHAsync;
                cuMemcpyAtoHAsync_v2;
                cuMemcpyAtoHAsync_v2_ptsz;
                cuMemcpyAtoH_v2;
                cuMemcpyAtoH_v2_ptds;
                cuMemcpyBatchAsync;
                cuMemcpyBatchAsync_ptsz;
                cuMemcpyDtoA;
                cuMemcpyDtoA_v2;
                cuMemcpyDtoA_v2_ptds;
                cuMemcpyDtoD;
                cuMemcpyDtoDAsync;
                cuMemcpyDtoH;
                cuMemcpyDtoHAsync;
                cuMemcpyHtoA;
                cuMemcpyHtoAAsync;
                cuMemcpyHtoAAsync_v2;
                cuMemcpyHtoAAsync_v2_ptsz;
                cuMemcpyHtoA_v2;
                cuMemcpyHtoA_v2_ptds;
                cuMemcpyHtoD;
                cuMemcpyHtoDAsync;
                cuMemsetD16;
                cuMemsetD2D16;
                cuMemsetD2D32;
                cuMemsetD2D8;
                cuMemsetD32;
                cuMemsetD8;
                cuMipmappedArrayCreate;
                cuMipmappedArrayDestroy;
                cuMipmappedArrayGetLevel;
                cuMipmappedArrayGetMemoryRequirements;
                cuMipmappedArrayGetSparseProperties;
                cuModuleGetGlobal;
                cuModuleGetSurfRef;
                cuModuleGetTexRef;
                cuMulticastAddDevice;
                cuMulticastBindAddr;
                cuMulticastBindMem;
                cuMulticastCreate;
                cuMulticastGetGranularity;
                cuMulticastUnbind;
                cuOccupancyMaxActiveClusters;
                cuOccupancyMaxPotentialClusterSize;
                cuParamSetSize;
                cuParamSetTexRef;
                cuParamSetf;
                cuParamSeti;
                cuParamSetv;
                cuProfilerInitialize;
                cuSignalExternalSemaphoresAsync;
                cuSignalExternalSemaphoresAsync_ptsz;
                cuStreamAttachMemAsync;
                cuStreamAttachMemAsync_ptsz;
                cuStreamBatchMemOp;
                cuStreamBatchMemOp_ptsz;
                cuStreamBatchMemOp_v2;
                cuStreamBatchMemOp_v2_ptsz;
                cuStreamBeginCapture;
                cuStreamBeginCaptureToGraph;
                cuStreamBeginCaptureToGraph_ptsz;
                cuStreamBeginCapture_ptsz;
                cuStreamBeginCapture_v2;
                cuStreamBeginCapture_v2_ptsz;
                cuStreamCopyAttributes;
                cuStreamCopyAttributes_ptsz;
                cuStreamDestroy;
                cuStreamEndCapture;
                cuStreamEndCapture_ptsz;
                cuStreamGetAttribute;
                cuStreamGetAttribute_ptsz;
                cuStreamGetCaptureInfo;
                cuStreamGetCaptureInfo_ptsz;
                cuStreamGetDevice;
                cuStreamGetDevice_ptsz;
                cuStreamGetGreenCtx;
                cuStreamSetAttribute;
                cuStreamSetAttribute_ptsz;
                cuStreamUpdateCaptureDependencies;
                cuStreamUpdateCaptureDependencies_ptsz;
                cuStreamUpdateCaptureDependencies_v2;
                cuStreamUpdateCaptureDependencies_v2_ptsz;
                cuStreamWaitValue32;
                cuStreamWaitValue32_ptsz;
                cuStreamWaitValue64;
                cuStreamWaitValue64_ptsz;
                cuStreamWriteValue32;
                cuStreamWriteValue32_ptsz;
                cuStreamWriteValue64;
                cuStreamWriteValue64_ptsz;
                cuSurfObjectCreate;
                cuSurfObjectDestroy;
                cuSurfObjectGetResourceDesc;
                cuSurfRefGetArray;
                cuSurfRefSetArray;
                cuTensorMapEncodeIm2col;
                cuTensorMapEncodeIm2colWide;
                cuTensorMapEncodeTiled;
                cuTensorMapReplaceAddress;
                cuTexObjectCreate;
                cuTexObjectDestroy;
                cuTexObjectGetResourceDesc;
                cuTexObjectGetResourceViewDesc;
                cuTexObjectGetTextureDesc;
                cuTexRefCreate;
                cuTexRefDestroy;
                cuTexRefGetAddress;
                cuTexRefGetAddressMode;
                cuTexRefGetAddress_v2;
                cuTexRefGetArray;
                cuTexRefGetBorderColor;
                cuTexRefGetFilterMode;
                cuTexRefGetFlags;
                cuTexRefGetFormat;
                cuTexRefGetMaxAnisotropy;
                cuTexRefGetMipmapFilterMode;
                cuTexRefGetMipmapLevelBias;
                cuTexRefGetMipmapLevelClamp;
                cuTexRefGetMipmappedArray;
                cuTexRefSetAddress;
                cuTexRefSetAddress2D;
                cuTexRefSetAddress2D_v2;
                cuTexRefSetAddress2D_v3;
                cuTexRefSetAddressMode;
                cuTexRefSetAddress_v2;
                cuTexRefSetArray;
                cuTexRefSetBorderColor;
                cuTexRefSetFilterMode;
                cuTexRefSetFlags;
                cuTexRefSetFormat;
                cuTexRefSetMaxAnisotropy;
                cuTexRefSetMipmapFilterMode;
                cuTexRefSetMipmapLevelBias;
                cuTexRefSetMipmapLevelClamp;
                cuTexRefSetMipmappedArray;
                cuUserObjectCreate;
                cuUserObjectRelease;
                cuUserObjectRetain;
                cuWaitExternalSemaphoresAsync;
                cuWaitExternalSemaphoresAsync_ptsz;
            }
        }
    };
}

/// The address of a function.
#[derive(Clone, Copy)]
struct Address(*const c_void);

// SAFETY: functions may be called by all threads.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

macro_rules! table {
    (
        functions { $($name:ident: $function:path;)* }
        streams { $($legacy:ident, $per_thread:ident: $stream:path;)* }
        unsupported { $($missing:ident;)* }
    ) => {
        static TABLE: LazyLock<HashMap<&str, Address>> = LazyLock::new(|| {
            HashMap::from([
                $((stringify!($name), Address($function as *const c_void)),)*
                $(
                    (stringify!($legacy), Address({
                        use $stream as legacy;
                        legacy::<{ crate::state::stream::LEGACY }> as *const c_void
                    })),
                    (stringify!($per_thread), Address({
                        use $stream as per_thread;
                        per_thread::<{ crate::state::stream::PER_THREAD }> as *const c_void
                    })),
                )*
                $((stringify!($missing), Address(missing::$missing as *const c_void)),)*
            ])
        });

        /// Functions that are not supported. They take no arguments and so ignore those that callers
        /// pass, which C's calling convention allows.
        pub mod missing {
            $(
                pub extern "C" fn $missing() -> u32 {
                    crate::functions::unsupported(stringify!($missing))
                }
            )*
        }
    };
}

driver_functions!(table);

/// A function that is not supported was called.
fn unsupported(function: &'static str) -> u32 {
    crate::driver::answer(function, || {
        tracing::warn!("{function} is not supported");
        Err(crate::code::Code::NOT_SUPPORTED)
    })
}

/// The names of all functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}

/// The address of the function with a name.
#[must_use]
pub fn function(name: &str) -> Option<*const c_void> {
    calls::note(name);
    TABLE.get(name).map(|address| address.0)
}
