/* A program in C99. It is compiled with the installed header, without a warning, and makes calls
   that fail and calls that work. The two nodes are on shared memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wireproof/wireproof.h>

#define EXPECT(condition)                                                     \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "line %d: %s is not so\n", __LINE__, #condition); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

/* As a later version of the header would have it. */
struct later_options {
    wireproof_options known;
    size_t unknown;
};

struct loss {
    int count;
    char message[128];
};

static void on_request(wireproof_endpoint* endpoint, const wireproof_message* message, void* user) {
    ++*(int*)user;
    EXPECT(wireproof_endpoint_reply(endpoint, 2, message->bytes, message->length) == WIREPROOF_OK);
}

static void on_reply(wireproof_endpoint* endpoint, const wireproof_message* message, void* user) {
    (void)endpoint;
    EXPECT(message->length == 4 && memcmp(message->bytes, "ping", 4) == 0);
    ++*(int*)user;
}

static void on_peer_lost(wireproof_endpoint* endpoint, const wireproof_peer_lost* lost,
                         void* user) {
    struct loss* loss = user;
    (void)endpoint;
    ++loss->count;
    snprintf(loss->message, sizeof loss->message, "%s", lost->message);
}

int main(void) {
    char why[256];
    char place[64];
    const char* peers[2];
    struct later_options options;
    wireproof_endpoint* ends[2] = {NULL, NULL};
    wireproof_counters counters;
    struct loss loss = {0, ""};
    int requests = 0;
    int replies = 0;
    size_t self;

    EXPECT(wireproof_version() == WIREPROOF_VERSION);
    EXPECT(wireproof_options_init(&options.known, 3) == WIREPROOF_BAD_ARGUMENT);
    EXPECT(wireproof_options_init(&options.known, sizeof options) == WIREPROOF_OK);
    EXPECT(options.unknown == 0);
    snprintf(place, sizeof place, "shm:consumer-%p", (void*)place);
    peers[0] = peers[1] = place;
    options.known.peers = peers;
    options.known.nodes = 2;

    options.unknown = 1;
    EXPECT(wireproof_endpoint_open(&options.known, &ends[0], why, sizeof why) ==
           WIREPROOF_BAD_ARGUMENT);
    EXPECT(ends[0] == NULL && strstr(why, "this version") != NULL);
    options.unknown = 0;
    for (self = 0; self < 2; ++self) {
        options.known.self = self;
        EXPECT(wireproof_endpoint_open(&options.known, &ends[self], why, sizeof why) ==
               WIREPROOF_OK);
    }
    EXPECT(wireproof_endpoint_handle(ends[1], 1, on_request, &requests) == WIREPROOF_OK);
    EXPECT(wireproof_endpoint_handle(ends[0], 2, on_reply, &replies) == WIREPROOF_OK);
    EXPECT(wireproof_endpoint_on_peer_lost(ends[0], on_peer_lost, &loss) == WIREPROOF_OK);
    EXPECT(wireproof_endpoint_request(ends[0], 1, 1, "ping", 4) == WIREPROOF_OK);
    while (replies == 0) {
        EXPECT(wireproof_endpoint_poll(ends[0], NULL) == WIREPROOF_OK);
        EXPECT(wireproof_endpoint_poll(ends[1], NULL) == WIREPROOF_OK);
    }
    EXPECT(requests == 1);
    counters.size = sizeof counters;
    EXPECT(wireproof_endpoint_counters(ends[0], 1, &counters) == WIREPROOF_OK);
    EXPECT(counters.accepted == 1 && counters.path == WIREPROOF_PATH_SHARED_MEMORY);
    EXPECT(wireproof_endpoint_request(ends[0], 2, 1, "ping", 4) == WIREPROOF_NO_SUCH_PEER);
    EXPECT(strlen(wireproof_endpoint_error(ends[0])) > 0);
    EXPECT(wireproof_endpoint_wait(ends[0], 1) == WIREPROOF_TIMED_OUT);

    EXPECT(wireproof_endpoint_free(ends[1]) == WIREPROOF_OK);
    EXPECT(wireproof_endpoint_request(ends[0], 1, 1, "ping", 4) == WIREPROOF_OK);
    EXPECT(wireproof_endpoint_flush(ends[0], 1, 20000) == WIREPROOF_PEER_LOST);
    EXPECT(loss.count == 1 && strncmp(loss.message, "node 1", 6) == 0);
    EXPECT(wireproof_endpoint_close(ends[0], 1000) == WIREPROOF_OK);
    EXPECT(wireproof_endpoint_request(ends[0], 1, 1, "ping", 4) == WIREPROOF_CLOSED);
    EXPECT(wireproof_endpoint_free(ends[0]) == WIREPROOF_OK);
    puts("each call has its result");
    return 0;
}
