# How clang builds OpenMP programs whose target regions call the host: NAME.host of NAME.c
# has an image for this machine's processor, NAME.gpu has PTX for the GPUs in ARCHES.

CLANG ?= clang-22
WRAPPER ?= llvm-offload-wrapper-22
ARCHES ?= sm_70
# Pieces of device-rt to link: `cargo xtask images --pieces --arch ..` builds them.
PIECES ?= $(ROOT)/target/images/pieces
CFLAGS ?= -O2 -Wall -Wextra -Werror
HOST := $(shell uname -m)-pc-linux-gnu

OPENMP = $(CFLAGS) -fopenmp -I $(PIECES)/include
# -Bsymbolic: the image's calls are its own library's, whatever else the process has.
FOR_HOST = -fopenmp-targets=$(HOST) -Xoffload-linker $(PIECES)/host/librevoff_piece.a \
    -Xoffload-linker -Bsymbolic
# The device's locals are each thread's own (-fopenmp-cuda-mode): else they would take LLVM's
# device runtime.
FOR_GPU = -DGPU -fopenmp-extensions -fopenmp-cuda-mode -nogpulib
# clang writes PTX 4.2 unless it is told another version: that of the piece.
ptx = $(shell sed -n 's/^\.version \([0-9]*\)\.\([0-9]*\).*/ptx\1\2/p' $(PIECES)/$(1)/revoff_piece.ptx)
# -rdynamic: the runtime finds the functions that device code calls by their names.
LINK = $(CLANG) -fopenmp -rdynamic $(LDFLAGS)

%.host: %.c
	$(LINK) $(OPENMP) $(FOR_HOST) -o $@ $(filter %.c %.so,$^) $(LDLIBS)

%.gpu: $(foreach arch,$(ARCHES),%.$(arch).ptx) %.gpu.o
	$(WRAPPER) --kind=openmp --triple=$(HOST) -o $*.images.bc $(filter %.ptx,$^)
	$(CLANG) -c -o $*.images.o $*.images.bc
	$(LINK) -o $@ $*.gpu.o $*.images.o -lomptarget $(LDLIBS)

%.gpu.o: %.c
	$(CLANG) $(OPENMP) $(FOR_GPU) -fopenmp-targets=nvptx64-nvidia-cuda --offload-host-only -c -o $@ $<

# By -mlink-bitcode-file device-rt's functions stay visible. As the image's own
# (-mlink-builtin-bitcode) LLVM 22 takes addresses of constants for those of locals in
# OpenMP's code. The linker's warnings are of a pass over the host's code, which drops it.
define to_ptx
%.$(1).ptx: %.c
	$$(CLANG) $$(OPENMP) $$(FOR_GPU) --offload-arch=$(1) --cuda-feature=+$$(call ptx,$(1)) \
	    -Xclang -mlink-bitcode-file -Xclang $$(PIECES)/$(1)/revoff_piece.bc \
	    -Wno-linker-warnings --offload-device-only -S -o $$@ $$<
endef
$(foreach arch,$(ARCHES),$(eval $(call to_ptx,$(arch))))

.SECONDARY:
