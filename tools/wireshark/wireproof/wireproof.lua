-- Wireshark and tshark show the packets of Wireproof with this plugin: SP Active Messages and link
-- frames over UDP, and the captures of `wireproof ladder`. docs/guide/messages/wireshark.md says how to install it.
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

local frames = {by_name = {}, list = {}}
for _, name in ipairs({"pcie", "hippi", "ue", "flit", "cxl"}) do
    local protocol = part(name)(common, bytes)
    frames.by_name[protocol.name] = protocol
    frames.list[#frames.list + 1] = protocol
end
function frames.protocol_of(raw)
    for _, protocol in ipairs(frames.list) do
        if #raw > 0 and protocol.recognises(raw) then return protocol end
    end
    return nil
end

local link = part("link")(common, bytes, frames)

am.made.proto.init = common.forget

-- Over UDP: found by the check in the packet, or chosen with "Decode as".
function am.made.proto.dissector(tvb, pinfo, root)
    if tvb:len() == 0 then return 0 end
    am.datagram(tvb, common.context_of_addresses(pinfo), root)
    return tvb:len()
end

function link.made.proto.dissector(tvb, pinfo, root)
    if tvb:len() == 0 then return 0 end
    link.datagrams(tvb, common.context_of_addresses(pinfo), root)
    return tvb:len()
end

local function found_by(protocol)
    return function(tvb, pinfo, root)
        if not protocol.recognises(tvb) then return false end
        pinfo.conversation = protocol.made.proto
        protocol.made.proto.dissector(tvb, pinfo, root)
        return true
    end
end
am.made.proto:register_heuristic("udp", found_by(am))
link.made.proto:register_heuristic("udp", found_by(link))

local ports = DissectorTable.get("udp.port")
ports:add_for_decode_as(am.made.proto)
ports:add_for_decode_as(link.made.proto)

-- A frame without a carrier: in a capture of `ladder`, or chosen as the payload of DLT_USER.
local function bare(protocol, tvb, pinfo, root, way, back)
    local context = common.context(pinfo, way, back)
    pinfo.cols.protocol = protocol.name
    if tvb:reported_len() > tvb:len() then
        local tree = root:add(protocol.made.proto, tvb())
        tree:add_proto_expert_info(protocol.made.experts.cut, "The capture has only a part of the frame")
        return
    end
    protocol.dissect(tvb, context, root, {own = common.remembered("bare stream " .. way), missing = 0, follows = true,
                                          peers = common.remembered("bare stream " .. back), from_begin = true})
end

for _, protocol in ipairs(frames.list) do
    function protocol.made.proto.dissector(tvb, pinfo, root)
        if tvb:len() == 0 then return 0 end
        bare(protocol, tvb, pinfo, root, "here", "there")
        return tvb:len()
    end
end

-- The interfaces of a ladder are "PROTOCOL A to B" and "PROTOCOL B to A". Other files with
-- LINKTYPE_USER0 go to the dissector that the user has chosen for it.
local interface_name = Field.new("frame.interface_name")
local encapsulations = DissectorTable.get("wtap_encap")
local others = encapsulations:get_dissector(wtap.USER0)
local ladder = Proto("wireproof.ladder", "Wireproof ladder")

function ladder.dissector(tvb, pinfo, root)
    local name = interface_name()
    local protocol, from, to = tostring(name and name.value or ""):match("^(%S+) ([AB]) to ([AB])$")
    local frame_protocol = frames.by_name[protocol or ""]
    if not frame_protocol and protocol ~= "sp-am" then
        if others then others:call(tvb, pinfo, root) end
        return tvb:len()
    end
    pinfo.cols.src, pinfo.cols.dst = from, to
    if tvb:len() == 0 then return 0 end
    if frame_protocol then
        bare(frame_protocol, tvb, pinfo, root, from, to)
    else
        am.datagram(tvb, common.context(pinfo, from, to), root)
    end
    return tvb:len()
end
encapsulations:add(wtap.USER0, ladder)
