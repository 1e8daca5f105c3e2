/* Writes the requests of extender_peer.py, the same in every run: request_bodies DIRECTORY */
#include "base/mem.h"
#include "tests/bench/request_body.h"

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

        for (size_t i = 0; argc == 2 && i < ARRAY_LEN(shapes); i++) {
                struct buf body = BUF_INIT(64 << 20);
                request_put(&body, shapes[i].count, shapes[i].has_nodes);
                bench_write(argv[1], shapes[i].name, body.data, body.len);
                buf_done(&body);
        }
        return argc != 2;
}
