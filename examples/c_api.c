// The library in C: two nodes in one program exchange requests and replies, one node stores bytes
// into the memory of the other, and a simulation compares a link with its closed form. The nodes
// use UDP on the loopback interface, and one frame in ten is lost on purpose.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wireproof/wireproof.h>

enum { SQUARE = 1, ANSWER = 2, STORED = 3 };

static void stop_unless(int good, const char* what, const char* why) {
    if (good) return;
    fprintf(stderr, "c_api: %s: %s\n", what, why);
    exit(1);
}

static wireproof_endpoint* open_node(size_t self) {
    const char* peers[2] = {"", ""};  // the other node is not open yet
    wireproof_options options;
    wireproof_endpoint* endpoint;
    char why[1024];
    wireproof_options_init(&options, sizeof options);
    peers[self] = "127.0.0.1:0";  // the system chooses a port
    options.peers = peers;
    options.nodes = 2;
    options.self = self;
    options.fault_loss = 0.1;
    stop_unless(wireproof_endpoint_open(&options, &endpoint, why, sizeof why) == WIREPROOF_OK,
                "open", why);
    return endpoint;
}

/// Runs at node 1. A handler sends at most one reply, and must not block.
static void on_square(wireproof_endpoint* endpoint, const wireproof_message* message, void* user) {
    uint32_t numbers[2];
    (void)user;
    if (message->length != sizeof numbers[0]) return;  // a peer may send anything
    memcpy(&numbers[0], message->bytes, sizeof numbers[0]);
    numbers[1] = numbers[0] * numbers[0];
    wireproof_endpoint_reply(endpoint, ANSWER, numbers, sizeof numbers);
}

/// Runs at node 0. `user` is what the program gave with the handler.
static void on_answer(wireproof_endpoint* endpoint, const wireproof_message* message, void* user) {
    uint32_t numbers[2];
    (void)endpoint;
    if (message->length != sizeof numbers) return;
    memcpy(numbers, message->bytes, sizeof numbers);
    printf("%" PRIu32 " squared is %" PRIu32 "\n", numbers[0], numbers[1]);
    ++*(unsigned*)user;
}

/// Runs at node 1 when a store has arrived. The bytes are in the registered memory.
static void on_stored(wireproof_endpoint* endpoint, const wireproof_message* message, void* user) {
    (void)endpoint;
    (void)user;
    printf("stored: %.*s\n", (int)message->memory_length, (const char*)message->memory);
}

/// Runs at node 0 when the store has ended.
static void on_done(wireproof_endpoint* endpoint, wireproof_status status, void* user) {
    (void)endpoint;
    *(wireproof_status*)user = status;
}

/// Lets both nodes receive, run handlers and send. A program with one endpoint calls
/// wireproof_endpoint_wait() instead.
static void turn(wireproof_endpoint* asker, wireproof_endpoint* answerer) {
    stop_unless(wireproof_endpoint_poll(asker, NULL) == WIREPROOF_OK, "poll",
                wireproof_endpoint_error(asker));
    stop_unless(wireproof_endpoint_poll(answerer, NULL) == WIREPROOF_OK, "poll",
                wireproof_endpoint_error(answerer));
}

static void exchange(void) {
    static const char text[] = "bytes from node 0";
    static char board[64];
    wireproof_endpoint* asker = open_node(0);
    wireproof_endpoint* answerer = open_node(1);
    wireproof_status stored = -1;  // no status is negative
    unsigned answers = 0;
    uint64_t address = 0;
    uint32_t n;

    stop_unless(wireproof_endpoint_set_peer_address(
                    asker, 1, wireproof_endpoint_address(answerer)) == WIREPROOF_OK &&
                    wireproof_endpoint_set_peer_address(
                        answerer, 0, wireproof_endpoint_address(asker)) == WIREPROOF_OK,
                "set_peer_address", "refused");
    wireproof_endpoint_handle(answerer, SQUARE, on_square, NULL);
    wireproof_endpoint_handle(answerer, STORED, on_stored, NULL);
    wireproof_endpoint_handle(asker, ANSWER, on_answer, &answers);

    for (n = 1; n <= 5; ++n) {
        stop_unless(wireproof_endpoint_request(asker, 1, SQUARE, &n, sizeof n) == WIREPROOF_OK,
                    "request", wireproof_endpoint_error(asker));
    }
    while (answers < 5) turn(asker, answerer);

    // Node 0 may write into `board`, and learns its address here. Between two processes, a message
    // would carry the address.
    stop_unless(wireproof_endpoint_register_memory(answerer, 0, board, sizeof board,
                                                   WIREPROOF_MAY_STORE, &address) == WIREPROOF_OK,
                "register_memory", wireproof_endpoint_error(answerer));
    stop_unless(wireproof_endpoint_store_async(asker, 1, address, text, sizeof text - 1, STORED, 0,
                                               on_done, &stored) == WIREPROOF_OK,
                "store", wireproof_endpoint_error(asker));
    while (stored < 0 || wireproof_endpoint_idle(answerer) == 0) turn(asker, answerer);
    stop_unless(stored == WIREPROOF_OK, "store", wireproof_status_name(stored));

    wireproof_endpoint_free(asker);
    wireproof_endpoint_free(answerer);
}

static void simulate(void) {
    wireproof_point_settings settings;
    wireproof_point_plan plan;
    wireproof_point_figures figures;
    char why[1024];
    wireproof_point_settings_init(&settings, sizeof settings);
    wireproof_point_plan_init(&plan, sizeof plan);
    settings.protocol = "pcie";
    settings.bit_error_rate = 1e-6;
    plan.relative_error = 0.05;
    figures.size = sizeof figures;
    stop_unless(wireproof_point_run(&settings, &plan, &figures, why, sizeof why) == WIREPROOF_OK,
                "wireproof_point_run", why);
    printf("%s ETR %.1f %%, by the closed form %.1f %%\n", settings.protocol, 100 * figures.etr,
           100 * figures.closed_etr);
}

int main(void) {
    exchange();
    if (wireproof_has_lab()) simulate();
    return 0;
}
