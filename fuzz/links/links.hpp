// The list of link engines for the fuzz targets decode_link and drive_link. Each has
//   Engine, frame_max           the engine, and the bytes of its longest frame,
//   may_lose                    false: no frame vanishes from the line, a lost one is damaged,
//   ends(choice)                two small ends; the bits 3 and 4 of `choice` select settings,
//   decode(bytes)               reads any bytes as a frame, and checks what was read,
//   forge(choice, wish)         a frame of the ends' own kind and length, with right checks, whose
//                               first bytes, or those that matter most, are `wish`,
//   is_checked(frame, at)       optional: a check of the link covers this byte of a frame.
#pragma once

#include "fuzz/links/cxl.hpp"
#include "fuzz/links/flit.hpp"
#include "fuzz/links/hippi.hpp"
#include "fuzz/links/pcie.hpp"
#include "fuzz/links/ue.hpp"

#include "wireproof/base/type_list.hpp"

namespace wireproof::fuzz {

/// At most 8. An input of drive_link selects one by its place, in the bits 0, 6 and 7 of its first
/// byte. So new ones come last.
using Links = TypeList<PcieLink, HippiLink, FlitLink, UeLink, CxlLink>;

}  // namespace wireproof::fuzz
