-- The declaration of fields, the memory of a capture, and distances between numbers.
--
-- Wireshark dissects a packet again whenever it shows it. So what a packet means (a retransmission,
-- a gap) is found the first time, in the order of the capture, and then remembered.
local common = {}

common.check_names = {[0] = "wrong", [1] = "good", [2] = "not checked", [3] = "good (header only)"}

-- Declares a protocol. A row of `fields` is {key, type, title, further arguments of ProtoField}, a
-- row of `experts` is {key, group, severity, text}. The filter of each is prefix.key.
function common.declare(prefix, title, fields, experts)
    local made = {proto = Proto(prefix, title), fields = {}, experts = {}}
    local list, expert_list = {}, {}
    for _, row in ipairs(fields) do
        local key, kind, name = row[1], row[2], row[3]
        local field = ProtoField[kind](prefix .. "." .. key, name, row[4], row[5], row[6], row[7])
        made.fields[key] = field
        list[#list + 1] = field
    end
    for _, row in ipairs(experts) do
        local one = ProtoExpert.new(prefix .. "." .. row[1], row[4], expert.group[row[2]],
                                    expert.severity[row[3]])
        made.experts[row[1]] = one
        expert_list[#expert_list + 1] = one
    end
    made.proto.fields = list
    made.proto.experts = expert_list
    return made
end

-- Scenarios of ladders may count on a smaller circle than the protocol does.
function common.declare_modulus(made)
    made.proto.prefs.modulus = Pref.uint("Modulus of the numbers", 0, "0: that of the protocol")
end
function common.modulus(made, usual)
    local chosen = made.proto.prefs.modulus
    return chosen > 1 and chosen or usual
end

function common.check_field(key, title)
    return {key, "uint8", title, base.DEC, common.check_names}
end
common.resend_fields = {
    {"missing", "uint32", "Missing before this one", base.DEC},
    {"resent_of", "framenum", "Sent before in", base.NONE},
}
common.resend_experts = {
    {"retransmission", "SEQUENCE", "NOTE", "Retransmission"},
    {"gap", "SEQUENCE", "WARN", "Gap in the numbers"},
}
common.damage_experts = {
    {"malformed", "MALFORMED", "ERROR", "Malformed"},
    {"damaged", "CHECKSUM", "ERROR", "The check is wrong"},
    {"cut", "UNDECODED", "WARN", "The capture has only the beginning"},
}
function common.rows(...)
    local all = {}
    for _, list in ipairs({...}) do
        for _, row in ipairs(list) do all[#all + 1] = row end
    end
    return all
end

-- The memory of the capture. Each reader of a file starts with an empty one.
local memory = {results = {}, tables = {}}
function common.forget()
    memory = {results = {}, tables = {}}
end

-- The table with this name.
function common.remembered(name)
    local found = memory.tables[name]
    if not found then
        found = {}
        memory.tables[name] = found
    end
    return found
end

-- The circumstances of a packet: who sends it, and where its results are remembered.
--   way, back: names of the two directions
function common.context(pinfo, way, back)
    return {pinfo = pinfo, way = way, back = back, count = 0, now = pinfo.rel_ts,
            key = pinfo.number .. "/" .. way .. "/"}
end

function common.context_of_addresses(pinfo)
    local from = tostring(pinfo.src) .. ":" .. pinfo.src_port
    local to = tostring(pinfo.dst) .. ":" .. pinfo.dst_port
    return common.context(pinfo, from .. ">" .. to, to .. ">" .. from)
end

-- Returns what `find` returned when the packet was dissected for the first time.
function common.once(context, find)
    context.count = context.count + 1
    local key = context.key .. context.count
    local result = memory.results[key]
    if result == nil then
        result = find()
        memory.results[key] = result
    end
    return result
end

-- How far `number` is ahead of `reference` on a circle; negative: behind.
function common.ahead(number, reference, modulus)
    local steps = (number - reference) % modulus
    return steps < modulus / 2 and steps or steps - modulus
end

-- Shows a retransmission, and how many numbers were left out.
function common.show_numbers(made, tree, result, what)
    if result.again then
        tree:add_proto_expert_info(made.experts.retransmission, "Retransmission of " .. what)
        if result.resent_of then
            tree:add(made.fields.resent_of, result.resent_of):set_generated()
        end
    end
    if (result.missing or 0) > 0 then
        tree:add(made.fields.missing, result.missing):set_generated()
        tree:add_proto_expert_info(made.experts.gap, result.missing .. " missing before " .. what)
    end
end

-- Shows whether a check is right: 0 wrong, 1 good, 2 not checked, 3 good for the header.
function common.show_check(made, tree, key, status, text)
    tree:add(made.fields[key], status):set_generated()
    if status == 0 then tree:add_proto_expert_info(made.experts.damaged, text) end
end

function common.complain(made, tree, text)
    tree:add_proto_expert_info(made.experts.malformed, text)
end

-- Adds to the info column. A packet may have several frames.
local shown_max = 8
function common.inform(context, text)
    context.shown = (context.shown or 0) + 1
    if context.shown > shown_max + 1 then return end
    local info = context.pinfo.cols.info
    if context.shown == 1 then
        info:set(text)
    else
        info:append(context.shown > shown_max and " | …" or " | " .. text)
    end
end

return common
