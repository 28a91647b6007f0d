-- Wireshark and tshark show the packets of Wireproof with this plugin: SP Active Messages over UDP,
-- and in captures of `wireproof ladder`. docs/guide/messages/wireshark.md says how to install it.
--
-- Wireshark loads each file of a plugin folder. The other files only return a function or a table,
-- so nothing happens when it loads them; this file puts them together.
-- __DIR__ is not set in the folder of all users.
local here = debug.getinfo(1, "S").source:gsub("^@", ""):match("^(.*)[/\\]")
local function part(name)
    return dofile(here .. "/" .. name .. ".lua")
end

set_plugin_info({version = "0.1.0", description = "The packets of Wireproof", author = "Wireproof"})

local bytes = part("bytes")
local common = part("common")
local am_format = part("am_format")(common, bytes)
local am = part("am")(common, bytes, am_format, part("am_track")(common, am_format))

am.made.proto.init = common.forget

-- Over UDP: found by the check in the packet, or chosen with "Decode as".
function am.made.proto.dissector(tvb, pinfo, root)
    if tvb:len() == 0 then return 0 end
    am.datagram(tvb, common.context_of_addresses(pinfo), root)
    return tvb:len()
end

am.made.proto:register_heuristic("udp", function(tvb, pinfo, root)
    if not am.recognises(tvb) then return false end
    pinfo.conversation = am.made.proto
    am.made.proto.dissector(tvb, pinfo, root)
    return true
end)
DissectorTable.get("udp.port"):add_for_decode_as(am.made.proto)

-- The interfaces of a ladder are "PROTOCOL A to B" and "PROTOCOL B to A". Other packets with
-- LINKTYPE_USER0 go to the dissector that the user has chosen for them.
local interface_name = Field.new("frame.interface_name")
local encapsulations = DissectorTable.get("wtap_encap")
local others = encapsulations:get_dissector(wtap.USER0)
local ladder = Proto("wireproof.ladder", "Wireproof ladder")

function ladder.dissector(tvb, pinfo, root)
    local name = interface_name()
    local from, to = tostring(name and name.value or ""):match("^sp%-am ([AB]) to ([AB])$")
    if not from then
        if others then others:call(tvb, pinfo, root) end
        return tvb:len()
    end
    pinfo.cols.src, pinfo.cols.dst = from, to
    if tvb:len() == 0 then return 0 end
    am.datagram(tvb, common.context(pinfo, from, to), root)
    return tvb:len()
end
encapsulations:add(wtap.USER0, ladder)
