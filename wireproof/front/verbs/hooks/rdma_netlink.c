#include "wireproof/front/verbs/hooks/rdma_netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <string.h>

enum {
    ADAPTER = 0, /* the index of the only adapter */
    PORTS = 1,   /* the number of its ports, and of the only port */
    NETNS_SHARED = 1,
    CLIENT_ROOM = 16
};
static const size_t message_header = NLMSG_HDRLEN;
static const size_t attribute_header = sizeof(struct nlattr);
static const unsigned attribute_type = (unsigned)NLA_TYPE_MASK;

/* What a request says. Its bytes are read once. */
struct request {
    struct nlmsghdr header;
    bool has_adapter;
    uint32_t adapter;
    bool has_port;
    uint32_t port;
    bool has_statistics_of; /* a kind of resource */
    bool has_client;
    char client[CLIENT_ROOM];
};

/* Returns false if the attribute is shorter. */
static bool read_u32(const uint8_t* data, size_t bytes, uint32_t* value) {
    if (bytes < sizeof *value) return false;
    memcpy(value, data, sizeof *value);
    return true;
}

/* A name that is too long is none that we know. */
static void read_name(const uint8_t* data, size_t bytes, char name[CLIENT_ROOM]) {
    const size_t length = strnlen((const char*)data, bytes);
    if (length < CLIENT_ROOM) memcpy(name, data, length);
}

static bool read_attribute(unsigned type, const uint8_t* data, size_t bytes,
                           struct request* request) {
    uint32_t ignored = 0;
    switch (type) {
        case RDMA_NLDEV_ATTR_DEV_INDEX:
            request->has_adapter = true;
            return read_u32(data, bytes, &request->adapter);
        case RDMA_NLDEV_ATTR_PORT_INDEX:
            request->has_port = true;
            return read_u32(data, bytes, &request->port);
        case RDMA_NLDEV_ATTR_STAT_RES:
            request->has_statistics_of = true;
            return read_u32(data, bytes, &ignored);
        case RDMA_NLDEV_ATTR_CHARDEV_TYPE:
            request->has_client = true;
            read_name(data, bytes, request->client);
            return true;
        default: return true;
    }
}

static size_t aligned(size_t length, size_t at_most) {
    const size_t padded = NLMSG_ALIGN(length);
    return padded < at_most ? padded : at_most;
}

static bool read_attributes(const uint8_t* data, size_t bytes, struct request* request) {
    while (bytes >= attribute_header) {
        struct nlattr attribute;
        memcpy(&attribute, data, sizeof attribute);
        if (attribute.nla_len < attribute_header || attribute.nla_len > bytes) return false;
        if (!read_attribute(attribute.nla_type & attribute_type, data + attribute_header,
                            attribute.nla_len - attribute_header, request)) {
            return false;
        }
        const size_t taken = aligned(attribute.nla_len, bytes);
        data += taken;
        bytes -= taken;
    }
    return bytes == 0;
}

/* The answer has room for every message below. The test with the longest names shows this. */
static void add(struct rdma_answer* answer, const void* data, size_t bytes) {
    memcpy(answer->bytes + answer->length, data, bytes);
    answer->length += bytes;
    while (answer->length % NLMSG_ALIGNTO != 0) answer->bytes[answer->length++] = 0;
}

static void add_attribute(struct rdma_answer* answer, unsigned type, const void* data,
                          size_t bytes) {
    const struct nlattr attribute = {.nla_len = (uint16_t)(attribute_header + bytes),
                                     .nla_type = (uint16_t)type};
    add(answer, &attribute, sizeof attribute);
    add(answer, data, bytes);
}

static void add_u8(struct rdma_answer* answer, unsigned type, uint8_t value) {
    add_attribute(answer, type, &value, sizeof value);
}

static void add_u32(struct rdma_answer* answer, unsigned type, uint32_t value) {
    add_attribute(answer, type, &value, sizeof value);
}

static void add_u64(struct rdma_answer* answer, unsigned type, uint64_t value) {
    add_attribute(answer, type, &value, sizeof value);
}

static void add_text(struct rdma_answer* answer, unsigned type, const char* text) {
    add_attribute(answer, type, text, strlen(text) + 1);
}

static void add_empty_table(struct rdma_answer* answer, unsigned type) {
    add_attribute(answer, type, "", 0);
}

/* Messages follow each other. Returns where the new one starts. */
static size_t start(const struct request* request, uint32_t socket, unsigned type, unsigned flags,
                    struct rdma_answer* answer) {
    const size_t at = answer->length;
    const struct nlmsghdr header = {.nlmsg_type = (uint16_t)type,
                                    .nlmsg_flags = (uint16_t)flags,
                                    .nlmsg_seq = request->header.nlmsg_seq,
                                    .nlmsg_pid = socket};
    add(answer, &header, sizeof header);
    return at;
}

static void finish(size_t at, struct rdma_answer* answer) {
    const uint32_t length = (uint32_t)(answer->length - at);
    memcpy(answer->bytes + at + offsetof(struct nlmsghdr, nlmsg_len), &length, sizeof length);
}

static void add_adapter(const struct rdma_facts* facts, struct rdma_answer* answer) {
    add_u32(answer, RDMA_NLDEV_ATTR_DEV_INDEX, ADAPTER);
    add_text(answer, RDMA_NLDEV_ATTR_DEV_NAME, facts->name);
}

static void show_adapter(const struct rdma_facts* facts, struct rdma_answer* answer) {
    add_adapter(facts, answer);
    add_u32(answer, RDMA_NLDEV_ATTR_PORT_INDEX, PORTS);
    add_u64(answer, RDMA_NLDEV_ATTR_NODE_GUID, facts->node_guid);
    add_u64(answer, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, facts->system_guid);
    add_u8(answer, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, facts->node_type);
    add_text(answer, RDMA_NLDEV_ATTR_DEV_PROTOCOL, facts->is_infiniband ? "ib" : "roce");
}

static void show_port(const struct rdma_facts* facts, struct rdma_answer* answer) {
    add_adapter(facts, answer);
    add_u32(answer, RDMA_NLDEV_ATTR_PORT_INDEX, PORTS);
    if (facts->is_infiniband) {
        add_u64(answer, RDMA_NLDEV_ATTR_SUBNET_PREFIX, facts->subnet_prefix);
        add_u32(answer, RDMA_NLDEV_ATTR_LID, facts->lid);
        add_u32(answer, RDMA_NLDEV_ATTR_SM_LID, facts->manager_lid);
        add_u8(answer, RDMA_NLDEV_ATTR_LMC, facts->lid_mask_count);
    }
    add_u8(answer, RDMA_NLDEV_ATTR_PORT_STATE, facts->port_state);
    add_u8(answer, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, facts->physical_state);
    if (!facts->is_infiniband) {
        add_u32(answer, RDMA_NLDEV_ATTR_NDEV_INDEX, facts->interface_index);
        add_text(answer, RDMA_NLDEV_ATTR_NDEV_NAME, facts->interface);
    }
}

/* Programs have devices of their own, so no process knows the objects or packets of all. */
static void show_resources(const struct rdma_facts* facts, struct rdma_answer* answer) {
    add_adapter(facts, answer);
    add_empty_table(answer, RDMA_NLDEV_ATTR_RES_SUMMARY);
}

static void show_statistics(const struct rdma_facts* facts, struct rdma_answer* answer) {
    add_adapter(facts, answer);
    add_u32(answer, RDMA_NLDEV_ATTR_PORT_INDEX, PORTS);
    add_empty_table(answer, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
}

static void show_system(const struct rdma_facts* facts, struct rdma_answer* answer) {
    (void)facts;
    add_u8(answer, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, NETNS_SHARED);
    /* The device reads the memory of its own process, so a child needs nothing. */
    add_u8(answer, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
}

static const struct rdma_node* find_node(const struct rdma_facts* facts,
                                         const struct request* request) {
    for (int i = 0; i < RDMA_NODES; ++i) {
        const struct rdma_node* const node = &facts->nodes[i];
        if (node->of_adapter == request->has_adapter && strcmp(node->client, request->client) == 0)
            return node;
    }
    return NULL;
}

static void show_node(const struct rdma_facts* facts, const struct rdma_node* node,
                      struct rdma_answer* answer) {
    if (node->of_adapter) add_adapter(facts, answer);
    add_u64(answer, RDMA_NLDEV_ATTR_CHARDEV, node->number);
    add_u64(answer, RDMA_NLDEV_ATTR_CHARDEV_ABI, node->abi);
    add_text(answer, RDMA_NLDEV_ATTR_CHARDEV_NAME, node->name);
}

/* What a request for one thing must name. */
enum named { NOTHING, THE_ADAPTER, THE_PORT };

static bool names(const struct request* request, enum named named) {
    const bool adapter = request->has_adapter && request->adapter == ADAPTER;
    const bool port = request->has_port && request->port == PORTS;
    return named == NOTHING || (adapter && (named == THE_ADAPTER || port));
}

typedef void show_function(const struct rdma_facts* facts, struct rdma_answer* answer);

/* What a command does. */
struct command {
    unsigned number;
    bool lists;             /* an answer to NLM_F_DUMP */
    enum named list_names;  /* what such a request must name */
    show_function* in_list; /* NULL: the list is empty */
    show_function* show;    /* the answer to a request for one thing; NULL: there is none */
    enum named names;
};

static const struct command commands[] = {
    {RDMA_NLDEV_CMD_GET, true, NOTHING, show_adapter, show_adapter, THE_ADAPTER},
    {RDMA_NLDEV_CMD_PORT_GET, true, THE_ADAPTER, show_port, show_port, THE_PORT},
    {RDMA_NLDEV_CMD_SYS_GET, false, NOTHING, NULL, show_system, NOTHING},
    {RDMA_NLDEV_CMD_RES_GET, true, NOTHING, show_resources, show_resources, THE_ADAPTER},
    {RDMA_NLDEV_CMD_RES_QP_GET, true, THE_ADAPTER, NULL, NULL, THE_ADAPTER},
    {RDMA_NLDEV_CMD_RES_CM_ID_GET, true, THE_ADAPTER, NULL, NULL, THE_ADAPTER},
    {RDMA_NLDEV_CMD_RES_CQ_GET, true, THE_ADAPTER, NULL, NULL, THE_ADAPTER},
    {RDMA_NLDEV_CMD_RES_MR_GET, true, THE_ADAPTER, NULL, NULL, THE_ADAPTER},
    {RDMA_NLDEV_CMD_RES_PD_GET, true, THE_ADAPTER, NULL, NULL, THE_ADAPTER},
    {RDMA_NLDEV_CMD_RES_CTX_GET, true, THE_ADAPTER, NULL, NULL, THE_ADAPTER},
    {RDMA_NLDEV_CMD_RES_SRQ_GET, true, THE_ADAPTER, NULL, NULL, THE_ADAPTER},
    {RDMA_NLDEV_CMD_STAT_GET, true, THE_ADAPTER, NULL, show_statistics, THE_PORT},
    {RDMA_NLDEV_CMD_STAT_GET_STATUS, false, NOTHING, NULL, show_statistics, THE_PORT},
};

/* Commands for which the kernel wants CAP_NET_ADMIN. */
static const unsigned privileged[] = {
    RDMA_NLDEV_CMD_SET,
    RDMA_NLDEV_CMD_NEWLINK,
    RDMA_NLDEV_CMD_DELLINK,
    RDMA_NLDEV_CMD_SYS_SET,
    RDMA_NLDEV_CMD_STAT_SET,
    RDMA_NLDEV_CMD_STAT_DEL,
    RDMA_NLDEV_CMD_RES_QP_GET_RAW,
    RDMA_NLDEV_CMD_RES_CQ_GET_RAW,
    RDMA_NLDEV_CMD_RES_MR_GET_RAW,
};

static bool is_privileged(unsigned number) {
    bool found = false;
    for (size_t i = 0; i < sizeof privileged / sizeof *privileged; ++i) {
        found = found || privileged[i] == number;
    }
    return found;
}

static const struct command* find_command(unsigned number) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i) {
        if (commands[i].number == number) return &commands[i];
    }
    return NULL;
}

static void answer_list(const struct rdma_facts* facts, uint32_t socket,
                        const struct request* request, const struct command* command,
                        struct rdma_answer* answer) {
    const int32_t no_error = 0;
    if (command->in_list != NULL) {
        const size_t at = start(request, socket, request->header.nlmsg_type, NLM_F_MULTI, answer);
        command->in_list(facts, answer);
        finish(at, answer);
    }
    const size_t end = start(request, socket, NLMSG_DONE, NLM_F_MULTI, answer);
    add(answer, &no_error, sizeof no_error);
    finish(end, answer);
}

/* Returns 0, or the number of an error. */
static int answer_node(const struct rdma_facts* facts, uint32_t socket,
                       const struct request* request, struct rdma_answer* answer) {
    if (!request->has_client) return EINVAL;
    if (request->has_adapter && !names(request, THE_ADAPTER)) return EINVAL;
    const struct rdma_node* const node = find_node(facts, request);
    if (node == NULL) return EOPNOTSUPP;
    const size_t at = start(request, socket, request->header.nlmsg_type, 0, answer);
    show_node(facts, node, answer);
    finish(at, answer);
    return 0;
}

/* Returns 0, or the number of an error. `lists` is set if the answer is a list. */
static int answer_command(const struct rdma_facts* facts, uint32_t socket,
                          const struct request* request, bool* lists, struct rdma_answer* answer) {
    const unsigned type = request->header.nlmsg_type;
    if (RDMA_NL_GET_CLIENT(type) != RDMA_NL_NLDEV) return EINVAL;
    const unsigned number = RDMA_NL_GET_OP(type);
    if (is_privileged(number)) return EPERM;
    if (number == RDMA_NLDEV_CMD_GET_CHARDEV) return answer_node(facts, socket, request, answer);
    const struct command* const command = find_command(number);
    if (command == NULL) return EINVAL;
    *lists = command->lists && (request->header.nlmsg_flags & NLM_F_DUMP) != 0;
    if (!names(request, *lists ? command->list_names : command->names)) return EINVAL;
    /* There is no default list of statistics, only one for each kind of resource. */
    if (*lists && number == RDMA_NLDEV_CMD_STAT_GET && !request->has_statistics_of) return EINVAL;
    if (*lists) {
        answer_list(facts, socket, request, command, answer);
        return 0;
    }
    if (command->show == NULL || request->has_statistics_of) return ENOENT;
    const size_t at = start(request, socket, request->header.nlmsg_type, 0, answer);
    command->show(facts, answer);
    finish(at, answer);
    return 0;
}

static void add_end(uint32_t socket, const struct request* request, int error,
                    struct rdma_answer* answer) {
    const struct nlmsgerr end = {.error = -error, .msg = request->header};
    const size_t at = start(request, socket, NLMSG_ERROR, NLM_F_CAPPED, answer);
    add(answer, &end, sizeof end);
    finish(at, answer);
}

size_t answer_rdma_request(const struct rdma_facts* facts, uint32_t socket, const uint8_t* requests,
                           size_t bytes, struct rdma_answer* answer) {
    struct request request = {.has_adapter = false};
    answer->length = 0;
    if (bytes < message_header) return 0;
    memcpy(&request.header, requests, sizeof request.header);
    const struct nlmsghdr* const header = &request.header;
    if (header->nlmsg_len < message_header || header->nlmsg_len > bytes) return 0;
    int error = 0;
    bool lists = false;
    if ((header->nlmsg_flags & NLM_F_REQUEST) != 0 && header->nlmsg_type >= NLMSG_MIN_TYPE) {
        error =
            read_attributes(requests + message_header, header->nlmsg_len - message_header, &request)
                ? answer_command(facts, socket, &request, &lists, answer)
                : EINVAL;
    }
    /* A list ends with NLMSG_DONE instead. */
    if (error != 0 || (!lists && (header->nlmsg_flags & NLM_F_ACK) != 0)) {
        add_end(socket, &request, error, answer);
    }
    return aligned(header->nlmsg_len, bytes);
}
