-- The datagrams in which frames of a link travel (wireproof/wire/sequenced/datagram_header.hpp). A
-- super-packet has several of them.
return function(common, bytes, frames)
    local link = {}
    local made = common.declare("wireproof.link", "Wireproof link datagram", {
        {"magic", "uint8", "Magic", base.HEX},
        {"version", "uint8", "Version", base.DEC},
        {"frames", "uint16", "number of frames", base.DEC},
        {"link", "uint32", "link id", base.HEX},
        {"from", "uint32", "sender's epoch", base.HEX},
        {"to", "uint32", "receiver's epoch", base.HEX},
        {"counter", "uint32", "datagram counter", base.DEC},
        {"length", "uint16", "length of a frame", base.DEC},
        {"check", "uint32", "CRC-32C", base.HEX},
        common.check_field("check_status", "Check status"),
        {"protocol", "string", "Protocol of the frames"},
        {"missing", "uint32", "Missing before this datagram", base.DEC},
        {"resent_frames", "uint32", "Retransmitted frames in this datagram", base.DEC},
        {"frame", "bytes", "A frame of no known protocol"},
    }, common.rows(common.damage_experts, {
        {"gap", "SEQUENCE", "WARN", "Gap in the datagram counter"},
        {"late", "SEQUENCE", "NOTE", "Duplicated or overtaken: the receiver drops it"},
        {"challenge", "SEQUENCE", "CHAT", "A datagram without frames: a challenge, or its answer"},
        {"resent", "SEQUENCE", "NOTE", "The datagram has retransmitted frames"},
    }))
    link.made = made
    local F, E = made.fields, made.experts
    local fixed, check_size, length_size = 20, 4, 2

    -- Returns nothing if no sender writes these bytes, or the bytes end before the check.
    local function read(raw)
        if #raw < fixed + check_size or bytes.u8(raw, 0) ~= 0x51 or bytes.u8(raw, 1) ~= 1 then return nil end
        local header = {frames = bytes.le(raw, 2, 2), link = bytes.le(raw, 4, 4), from = bytes.le(raw, 8, 4),
                        to = bytes.le(raw, 12, 4), counter = bytes.le(raw, 16, 4), lengths = {}, total = 0}
        header.check_at = fixed + header.frames * length_size
        header.size = header.check_at + check_size
        if #raw < header.size then return nil end
        for i = 1, header.frames do
            header.lengths[i] = bytes.le(raw, fixed + (i - 1) * length_size, 2)
            header.total = header.total + header.lengths[i]
        end
        return header
    end

    local function check_holds(raw, header)
        return bytes.le(raw, header.check_at, 4) == bytes.crc32c(raw:sub(1, header.check_at))
    end

    function link.recognises(tvb)
        local raw = tvb:raw()
        local header = read(raw)
        return header ~= nil and header.from ~= 0 and check_holds(raw, header)
    end

    -- The protocol of a link is that of its first frame that is surely of one protocol.
    local function protocol_of(context, raw, header)
        local links = common.remembered("link protocols")
        local one, other = context.way, context.back
        if other < one then one, other = other, one end
        local name = one .. "|" .. header.link
        local at = header.size
        for _, length in ipairs(header.lengths) do
            if links[name] or at + length > #raw then break end
            local found = frames.protocol_of(raw:sub(at + 1, at + length))
            links[name] = found and found.name
            at = at + length
        end
        return links[name]
    end

    -- What the receiver would find in the counter. A link protocol that counts its frames lets the
    -- counter count them, too; then a datagram without frames has no place in it.
    local function follow(context, raw, header)
        local result = {protocol = protocol_of(context, raw, header), late = false, missing = 0}
        local protocol = frames.by_name[result.protocol]
        local counts = protocol ~= nil and protocol.counts_frames
        if counts and header.frames == 0 then return result end
        local lasts = common.remembered("link counters")
        local name = context.way .. "|" .. header.link
        local last = lasts[name]
        if last and last.from == header.from then
            local expected = last.counter + (counts and last.frames or 1)
            local steps = common.ahead(header.counter, expected, 4294967296)
            if steps < 0 then
                result.late = true
                return result
            end
            result.missing = steps
        end
        lasts[name] = {from = header.from, counter = header.counter, frames = header.frames}
        return result
    end

    local function stream_of(way, header, epoch)
        return common.remembered(table.concat({"link stream", way, header.link, epoch}, " "))
    end

    local function show_header(tree, tvb, header)
        tree:add(F.magic, tvb(0, 1))
        tree:add(F.version, tvb(1, 1))
        tree:add_le(F.frames, tvb(2, 2))
        tree:add_le(F.link, tvb(4, 4))
        tree:add_le(F.from, tvb(8, 4))
        tree:add_le(F.to, tvb(12, 4))
        tree:add_le(F.counter, tvb(16, 4))
        for i = 1, header.frames do
            tree:add_le(F.length, tvb(fixed + (i - 1) * length_size, 2))
        end
        tree:add_le(F.check, tvb(header.check_at, 4))
    end

    -- Returns how many bytes the datagram has.
    local function datagram(tvb, context, root, cut)
        local raw = tvb:raw()
        local header = read(raw)
        if not header then
            local tree = root:add(made.proto, tvb())
            if cut then
                tree:add_proto_expert_info(E.cut, "The capture has only a part of the header")
            else
                common.complain(made, tree, "No header of a link datagram")
            end
            common.inform(context, "link, malformed")
            return #raw
        end
        local whole = math.min(header.size + header.total, #raw)
        local tree = root:add(made.proto, tvb(0, whole), "Wireproof link datagram, counter " .. header.counter ..
                              ", " .. header.frames .. " frames")
        show_header(tree, tvb, header)
        local status = common.once(context, function() return check_holds(raw, header) and 1 or 0 end)
        common.show_check(made, tree, "check_status", status, "The check of the header is wrong")
        if status == 0 then
            common.inform(context, "link, damaged header")
            return #raw  -- its lengths cannot be trusted either
        end
        if header.from == 0 then common.complain(made, tree, "The epoch of a sender is never 0") end
        local result = common.once(context, function() return follow(context, raw, header) end)
        if result.protocol then tree:add(F.protocol, result.protocol):set_generated() end
        if result.missing > 0 then
            tree:add(F.missing, result.missing):set_generated()
            tree:add_proto_expert_info(E.gap, result.missing .. " missing before this datagram")
        end
        if result.late then tree:add_proto_expert_info(E.late, "The receiver drops this datagram") end
        if header.frames == 0 then
            tree:add_proto_expert_info(E.challenge, "No frames")
            common.inform(context, "link, no frames")
        end
        local protocol = frames.by_name[result.protocol]
        local at, resent = header.size, 0
        for i, length in ipairs(header.lengths) do
            if at + length > #raw then
                local left = header.frames - i + 1
                local text = "The datagram ends before " .. left .. " of its frames"
                if cut then
                    tree:add_proto_expert_info(E.cut, text)
                else
                    common.complain(made, tree, text)
                end
                at = #raw
                break
            end
            if length > 0 then
                local frame = tvb(at, length):tvb()
                if protocol then
                    local seen = protocol.dissect(frame, context, root, {
                        own = stream_of(context.way, header, header.from),
                        peers = stream_of(context.back, header, header.to),
                        missing = i == 1 and protocol.counts_frames and result.missing or 0,
                        follows = not result.late})
                    if seen and seen.again then resent = resent + 1 end
                else
                    tree:add(F.frame, frame())
                end
            end
            at = at + length
        end
        if resent > 0 then
            tree:add(F.resent_frames, resent):set_generated()
            tree:add_proto_expert_info(E.resent, resent .. " retransmitted frames")
        end
        return at
    end

    function link.datagrams(tvb, context, root)
        local cut = tvb:reported_len() > tvb:len()
        context.pinfo.cols.protocol = "LINK"
        local at = 0
        repeat
            at = at + datagram(tvb(at):tvb(), context, root, cut)
        until at >= tvb:len()
    end

    return link
end
