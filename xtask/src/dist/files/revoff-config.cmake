# The target revoff::host links device-rt into an image for the `host` device: a MODULE library. For images for GPUs,
# REVOFF_PIECES is the folder with what a compiler links (docs/linking.md), REVOFF_INCLUDE_DIR that with the headers.

# Where /lib is a link to usr/lib, CMake may find this file through it.
get_filename_component(REVOFF_PREFIX "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(REVOFF_PREFIX "${REVOFF_PREFIX}/../../.." ABSOLUTE)
set(REVOFF_INCLUDE_DIR "${REVOFF_PREFIX}/include")
set(REVOFF_PIECES "${REVOFF_PREFIX}/@PIECES@")

if(NOT TARGET revoff::host)
  add_library(revoff::host INTERFACE IMPORTED)
  # All of the library: the host finds its variables by name.
  set_target_properties(revoff::host PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${REVOFF_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES
      "-Wl,-Bsymbolic;-Wl,--whole-archive;${REVOFF_PIECES}/host/librevoff_piece.a;-Wl,--no-whole-archive")
endif()
