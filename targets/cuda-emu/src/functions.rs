//! The driver's functions by name.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::LazyLock;

/// Calls a macro with the lists of all functions of CUDA 12.9: those that are there; those with a stream or a default
/// stream, with the name for the default stream of the calling thread; and those that are not supported.
#[macro_export]
macro_rules! driver_functions {
    ($use:path) => {
        $use! {
            functions {
                cuCtxCreate_v2: $crate::current::cuCtxCreate_v2;
                cuCtxCreate_v3: $crate::current::cuCtxCreate_v3;
                cuCtxCreate_v4: $crate::current::cuCtxCreate_v4;
                cuCtxDestroy_v2: $crate::current::cuCtxDestroy_v2;
                cuCtxDisablePeerAccess: $crate::device::cuCtxDisablePeerAccess;
                cuCtxEnablePeerAccess: $crate::device::cuCtxEnablePeerAccess;
                cuCtxGetApiVersion: $crate::current::cuCtxGetApiVersion;
                cuCtxGetCacheConfig: $crate::current::cuCtxGetCacheConfig;
                cuCtxGetCurrent: $crate::current::cuCtxGetCurrent;
                cuCtxGetDevice: $crate::current::cuCtxGetDevice;
                cuCtxGetFlags: $crate::current::cuCtxGetFlags;
                cuCtxGetId: $crate::current::cuCtxGetId;
                cuCtxGetLimit: $crate::current::cuCtxGetLimit;
                cuCtxGetStreamPriorityRange: $crate::current::cuCtxGetStreamPriorityRange;
                cuCtxPopCurrent_v2: $crate::current::cuCtxPopCurrent_v2;
                cuCtxPushCurrent_v2: $crate::current::cuCtxPushCurrent_v2;
                cuCtxResetPersistingL2Cache: $crate::current::cuCtxResetPersistingL2Cache;
                cuCtxSetCacheConfig: $crate::current::cuCtxSetCacheConfig;
                cuCtxSetCurrent: $crate::current::cuCtxSetCurrent;
                cuCtxSetLimit: $crate::current::cuCtxSetLimit;
                cuCtxSynchronize: $crate::current::cuCtxSynchronize;
                cuDeviceCanAccessPeer: $crate::device::cuDeviceCanAccessPeer;
                cuDeviceComputeCapability: $crate::device::cuDeviceComputeCapability;
                cuDeviceGet: $crate::device::cuDeviceGet;
                cuDeviceGetAttribute: $crate::device::cuDeviceGetAttribute;
                cuDeviceGetByPCIBusId: $crate::device::cuDeviceGetByPCIBusId;
                cuDeviceGetCount: $crate::device::cuDeviceGetCount;
                cuDeviceGetDefaultMemPool: $crate::pool::cuDeviceGetDefaultMemPool;
                cuDeviceGetExecAffinitySupport: $crate::device::cuDeviceGetExecAffinitySupport;
                cuDeviceGetMemPool: $crate::pool::cuDeviceGetMemPool;
                cuDeviceGetName: $crate::device::cuDeviceGetName;
                cuDeviceGetP2PAttribute: $crate::device::cuDeviceGetP2PAttribute;
                cuDeviceGetPCIBusId: $crate::device::cuDeviceGetPCIBusId;
                cuDeviceGetUuid_v2: $crate::device::cuDeviceGetUuid_v2;
                cuDevicePrimaryCtxGetState: $crate::primary::cuDevicePrimaryCtxGetState;
                cuDevicePrimaryCtxRelease_v2: $crate::primary::cuDevicePrimaryCtxRelease_v2;
                cuDevicePrimaryCtxReset_v2: $crate::primary::cuDevicePrimaryCtxReset_v2;
                cuDevicePrimaryCtxRetain: $crate::primary::cuDevicePrimaryCtxRetain;
                cuDevicePrimaryCtxSetFlags_v2: $crate::primary::cuDevicePrimaryCtxSetFlags_v2;
                cuDeviceSetMemPool: $crate::pool::cuDeviceSetMemPool;
                cuDeviceTotalMem_v2: $crate::device::cuDeviceTotalMem_v2;
                cuDriverGetVersion: $crate::driver::cuDriverGetVersion;
                cuEventCreate: $crate::event::cuEventCreate;
                cuEventDestroy_v2: $crate::event::cuEventDestroy_v2;
                cuEventElapsedTime: $crate::event::cuEventElapsedTime;
                cuEventElapsedTime_v2: $crate::event::cuEventElapsedTime_v2;
                cuEventQuery: $crate::event::cuEventQuery;
                cuEventSynchronize: $crate::event::cuEventSynchronize;
                cuFuncGetAttribute: $crate::function::cuFuncGetAttribute;
                cuFuncGetModule: $crate::module::cuFuncGetModule;
                cuFuncGetName: $crate::module::cuFuncGetName;
                cuFuncGetParamInfo: $crate::function::cuFuncGetParamInfo;
                cuFuncIsLoaded: $crate::function::cuFuncIsLoaded;
                cuFuncLoad: $crate::function::cuFuncLoad;
                cuFuncSetAttribute: $crate::function::cuFuncSetAttribute;
                cuFuncSetCacheConfig: $crate::function::cuFuncSetCacheConfig;
                cuGetErrorName: $crate::code::cuGetErrorName;
                cuGetErrorString: $crate::code::cuGetErrorString;
                cuGetExportTable: $crate::export::cuGetExportTable;
                cuGetProcAddress: $crate::export::cuGetProcAddress;
                cuGetProcAddress_v2: $crate::export::cuGetProcAddress_v2;
                cuInit: $crate::driver::cuInit;
                cuKernelGetAttribute: $crate::function::cuKernelGetAttribute;
                cuKernelGetFunction: $crate::library::cuKernelGetFunction;
                cuKernelGetLibrary: $crate::library::cuKernelGetLibrary;
                cuKernelGetName: $crate::library::cuKernelGetName;
                cuKernelSetAttribute: $crate::function::cuKernelSetAttribute;
                cuLibraryEnumerateKernels: $crate::library::cuLibraryEnumerateKernels;
                cuLibraryGetGlobal: $crate::library::cuLibraryGetGlobal;
                cuLibraryGetKernel: $crate::library::cuLibraryGetKernel;
                cuLibraryGetKernelCount: $crate::library::cuLibraryGetKernelCount;
                cuLibraryGetModule: $crate::library::cuLibraryGetModule;
                cuLibraryLoadData: $crate::library::cuLibraryLoadData;
                cuLibraryLoadFromFile: $crate::library::cuLibraryLoadFromFile;
                cuLibraryUnload: $crate::library::cuLibraryUnload;
                cuLinkAddData_v2: $crate::link::cuLinkAddData_v2;
                cuLinkAddFile_v2: $crate::link::cuLinkAddFile_v2;
                cuLinkComplete: $crate::link::cuLinkComplete;
                cuLinkCreate_v2: $crate::link::cuLinkCreate_v2;
                cuLinkDestroy: $crate::link::cuLinkDestroy;
                cuMemAdvise: $crate::memory::cuMemAdvise;
                cuMemAdvise_v2: $crate::memory::cuMemAdvise_v2;
                cuMemAllocHost_v2: $crate::memory::cuMemAllocHost_v2;
                cuMemAllocManaged: $crate::memory::cuMemAllocManaged;
                cuMemAllocPitch_v2: $crate::memory::cuMemAllocPitch_v2;
                cuMemAlloc_v2: $crate::memory::cuMemAlloc_v2;
                cuMemFreeHost: $crate::memory::cuMemFreeHost;
                cuMemFree_v2: $crate::memory::cuMemFree_v2;
                cuMemGetAddressRange_v2: $crate::memory::cuMemGetAddressRange_v2;
                cuMemGetInfo_v2: $crate::memory::cuMemGetInfo_v2;
                cuMemHostAlloc: $crate::memory::cuMemHostAlloc;
                cuMemHostGetDevicePointer_v2: $crate::memory::cuMemHostGetDevicePointer_v2;
                cuMemHostGetFlags: $crate::memory::cuMemHostGetFlags;
                cuMemHostRegister_v2: $crate::memory::cuMemHostRegister_v2;
                cuMemHostUnregister: $crate::memory::cuMemHostUnregister;
                cuMemPoolCreate: $crate::pool::cuMemPoolCreate;
                cuMemPoolDestroy: $crate::pool::cuMemPoolDestroy;
                cuMemPoolGetAccess: $crate::pool::cuMemPoolGetAccess;
                cuMemPoolGetAttribute: $crate::pool::cuMemPoolGetAttribute;
                cuMemPoolSetAccess: $crate::pool::cuMemPoolSetAccess;
                cuMemPoolSetAttribute: $crate::pool::cuMemPoolSetAttribute;
                cuMemPoolTrimTo: $crate::pool::cuMemPoolTrimTo;
                cuModuleEnumerateFunctions: $crate::module::cuModuleEnumerateFunctions;
                cuModuleGetFunction: $crate::module::cuModuleGetFunction;
                cuModuleGetFunctionCount: $crate::module::cuModuleGetFunctionCount;
                cuModuleGetGlobal_v2: $crate::module::cuModuleGetGlobal_v2;
                cuModuleGetLoadingMode: $crate::module::cuModuleGetLoadingMode;
                cuModuleLoad: $crate::module::cuModuleLoad;
                cuModuleLoadData: $crate::module::cuModuleLoadData;
                cuModuleLoadDataEx: $crate::module::cuModuleLoadDataEx;
                cuModuleLoadFatBinary: $crate::module::cuModuleLoadFatBinary;
                cuModuleUnload: $crate::module::cuModuleUnload;
                cuOccupancyAvailableDynamicSMemPerBlock: $crate::function::cuOccupancyAvailableDynamicSMemPerBlock;
                cuOccupancyMaxActiveBlocksPerMultiprocessor: $crate::function::cuOccupancyMaxActiveBlocksPerMultiprocessor;
                cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags: $crate::function::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags;
                cuOccupancyMaxPotentialBlockSize: $crate::function::cuOccupancyMaxPotentialBlockSize;
                cuOccupancyMaxPotentialBlockSizeWithFlags: $crate::function::cuOccupancyMaxPotentialBlockSizeWithFlags;
                cuPointerGetAttribute: $crate::pointer::cuPointerGetAttribute;
                cuPointerGetAttributes: $crate::pointer::cuPointerGetAttributes;
                cuPointerSetAttribute: $crate::pointer::cuPointerSetAttribute;
                cuProfilerStart: $crate::current::cuProfilerStart;
                cuProfilerStop: $crate::current::cuProfilerStop;
                cuStreamCreate: $crate::stream::cuStreamCreate;
                cuStreamCreateWithPriority: $crate::stream::cuStreamCreateWithPriority;
                cuStreamDestroy_v2: $crate::stream::cuStreamDestroy_v2;
                cuThreadExchangeStreamCaptureMode: $crate::stream::cuThreadExchangeStreamCaptureMode;
            }
            streams {
                cuEventRecord, cuEventRecord_ptsz: $crate::event::cuEventRecord;
                cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz: $crate::event::cuEventRecordWithFlags;
                cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz: $crate::launch::cuLaunchCooperativeKernel;
                cuLaunchHostFunc, cuLaunchHostFunc_ptsz: $crate::callback::cuLaunchHostFunc;
                cuLaunchKernel, cuLaunchKernel_ptsz: $crate::launch::cuLaunchKernel;
                cuLaunchKernelEx, cuLaunchKernelEx_ptsz: $crate::launch::cuLaunchKernelEx;
                cuMemAllocAsync, cuMemAllocAsync_ptsz: $crate::pool::cuMemAllocAsync;
                cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz: $crate::pool::cuMemAllocFromPoolAsync;
                cuMemFreeAsync, cuMemFreeAsync_ptsz: $crate::pool::cuMemFreeAsync;
                cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz: $crate::memory::cuMemPrefetchAsync;
                cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_ptsz: $crate::memory::cuMemPrefetchAsync_v2;
                cuMemcpy, cuMemcpy_ptds: $crate::copy::line::cuMemcpy;
                cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz: $crate::copy::rows::cuMemcpy2DAsync_v2;
                cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds: $crate::copy::rows::cuMemcpy2DUnaligned_v2;
                cuMemcpy2D_v2, cuMemcpy2D_v2_ptds: $crate::copy::rows::cuMemcpy2D_v2;
                cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz: $crate::copy::rows::cuMemcpy3DAsync_v2;
                cuMemcpy3D_v2, cuMemcpy3D_v2_ptds: $crate::copy::rows::cuMemcpy3D_v2;
                cuMemcpyAsync, cuMemcpyAsync_ptsz: $crate::copy::line::cuMemcpyAsync;
                cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz: $crate::copy::line::cuMemcpyDtoDAsync_v2;
                cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds: $crate::copy::line::cuMemcpyDtoD_v2;
                cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz: $crate::copy::line::cuMemcpyDtoHAsync_v2;
                cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds: $crate::copy::line::cuMemcpyDtoH_v2;
                cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz: $crate::copy::line::cuMemcpyHtoDAsync_v2;
                cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds: $crate::copy::line::cuMemcpyHtoD_v2;
                cuMemcpyPeer, cuMemcpyPeer_ptds: $crate::copy::line::cuMemcpyPeer;
                cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz: $crate::copy::line::cuMemcpyPeerAsync;
                cuMemsetD16Async, cuMemsetD16Async_ptsz: $crate::copy::set::cuMemsetD16Async;
                cuMemsetD16_v2, cuMemsetD16_v2_ptds: $crate::copy::set::cuMemsetD16_v2;
                cuMemsetD2D16Async, cuMemsetD2D16Async_ptsz: $crate::copy::set::cuMemsetD2D16Async;
                cuMemsetD2D16_v2, cuMemsetD2D16_v2_ptds: $crate::copy::set::cuMemsetD2D16_v2;
                cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz: $crate::copy::set::cuMemsetD2D32Async;
                cuMemsetD2D32_v2, cuMemsetD2D32_v2_ptds: $crate::copy::set::cuMemsetD2D32_v2;
                cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz: $crate::copy::set::cuMemsetD2D8Async;
                cuMemsetD2D8_v2, cuMemsetD2D8_v2_ptds: $crate::copy::set::cuMemsetD2D8_v2;
                cuMemsetD32Async, cuMemsetD32Async_ptsz: $crate::copy::set::cuMemsetD32Async;
                cuMemsetD32_v2, cuMemsetD32_v2_ptds: $crate::copy::set::cuMemsetD32_v2;
                cuMemsetD8Async, cuMemsetD8Async_ptsz: $crate::copy::set::cuMemsetD8Async;
                cuMemsetD8_v2, cuMemsetD8_v2_ptds: $crate::copy::set::cuMemsetD8_v2;
                cuStreamAddCallback, cuStreamAddCallback_ptsz: $crate::callback::cuStreamAddCallback;
                cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2_ptsz: $crate::stream::cuStreamGetCaptureInfo_v2;
                cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3_ptsz: $crate::stream::cuStreamGetCaptureInfo_v3;
                cuStreamGetCtx, cuStreamGetCtx_ptsz: $crate::stream::cuStreamGetCtx;
                cuStreamGetCtx_v2, cuStreamGetCtx_v2_ptsz: $crate::stream::cuStreamGetCtx_v2;
                cuStreamGetFlags, cuStreamGetFlags_ptsz: $crate::stream::cuStreamGetFlags;
                cuStreamGetId, cuStreamGetId_ptsz: $crate::stream::cuStreamGetId;
                cuStreamGetPriority, cuStreamGetPriority_ptsz: $crate::stream::cuStreamGetPriority;
                cuStreamIsCapturing, cuStreamIsCapturing_ptsz: $crate::stream::cuStreamIsCapturing;
                cuStreamQuery, cuStreamQuery_ptsz: $crate::stream::cuStreamQuery;
                cuStreamSynchronize, cuStreamSynchronize_ptsz: $crate::stream::cuStreamSynchronize;
                cuStreamWaitEvent, cuStreamWaitEvent_ptsz: $crate::stream::cuStreamWaitEvent;
                cuStreamWaitValue32_v2, cuStreamWaitValue32_v2_ptsz: $crate::callback::cuStreamWaitValue32_v2;
                cuStreamWaitValue64_v2, cuStreamWaitValue64_v2_ptsz: $crate::callback::cuStreamWaitValue64_v2;
                cuStreamWriteValue32_v2, cuStreamWriteValue32_v2_ptsz: $crate::callback::cuStreamWriteValue32_v2;
                cuStreamWriteValue64_v2, cuStreamWriteValue64_v2_ptsz: $crate::callback::cuStreamWriteValue64_v2;
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
                cuDeviceGetUuid;
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
                        legacy::<{ crate::LEGACY }> as *const c_void
                    })),
                    (stringify!($per_thread), Address({
                        use $stream as per_thread;
                        per_thread::<{ crate::PER_THREAD }> as *const c_void
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
                    super::unsupported(stringify!($missing))
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
    TABLE.get(name).map(|address| address.0)
}
