/*
 * Writes the request bodies that extender_peer.py sends to both extenders: for 5,000 and 500 names,
 * and as many whole Node objects.
 *
 *     request_bodies DIR
 */
#include "base/buf.h"
#include "tests/bench/request_body.h"

enum { BODY_MAX_BYTES = 64 << 20 };

int main(int argc, char **argv) {
        static const struct {
                const char *name;
                size_t count;
                bool has_nodes;
        } shapes[] = {
                {"names-5000", 5000, false},
                {"names-500", 500, false},
                {"nodes-500", 500, true},
                {"nodes-5000", 5000, true},
        };

        if (argc != 2)
                return 2;
        for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
                struct buf body = BUF_INIT(BODY_MAX_BYTES);
                request_put(&body, shapes[i].count, shapes[i].has_nodes);
                bench_write(argv[1], shapes[i].name, body.data, body.len);
                buf_done(&body);
        }
        return 0;
}
