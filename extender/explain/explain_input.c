#include "extender/explain/explain_input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "codec/json.h"
#include "extender/explain/explain_estimate.h"

enum {
        INPUT_MAX_BYTES = 512 << 20, /* 5,000 whole nodes are about 80 MB */
};

static int read_all(int fd, struct buf *out, struct error *err) {
        enum { CHUNK_BYTES = 1 << 16 };

        for (;;) {
                if (!buf_reserve(out, CHUNK_BYTES))
                        return error_set(err, E2BIG, "more than %d bytes", INPUT_MAX_BYTES);
                ssize_t got = read(fd, out->data + out->len, CHUNK_BYTES);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return error_set(err, errno, "%s", strerror(errno));
                if (got == 0)
                        break;
                out->len += (size_t)got;
        }
        out->data[out->len] = '\0';
        return 0;
}

static int read_input(const char *path, struct buf *out, struct error *err) {
        if (strcmp(path, "-") == 0)
                return read_all(STDIN_FILENO, out, err);

        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return error_set(err, errno, "%s", strerror(errno));
        int r = read_all(fd, out, err);
        (void)close(fd);
        return r;
}

static int put_node(struct node_table *table, const json_t *node, int64_t now_unix_ms,
                    struct error *err) {
        const char *name = json_string_at(node, "metadata", "name", NULL);
        size_t before = node_table_count(table);

        if (!name)
                return error_set(err, EINVAL, "no metadata.name: not a Node");
        node_table_put(table, name, json_at(node, "metadata", "annotations", NULL), now_unix_ms);
        if (node_table_count(table) != before + 1)
                return error_set(err, EINVAL,
                                 "metadata.name '%.64s' is a duplicate or not a valid node name",
                                 name);
        node_table_set_capacity(table, name, json_at(node, "status", "capacity", NULL),
                                now_unix_ms);
        node_table_set_pool(table, name, json_at(node, "metadata", "labels", NULL), now_unix_ms);
        return 0;
}

static bool is_pod(const json_t *item) {
        const char *kind = json_string_at(item, "kind", NULL);

        return kind && strcmp(kind, "Pod") == 0;
}

/* A NodeList (or kubectl's List, which may hold pods too), or one Node. */
static int put_nodes(struct node_table *table, const json_t *root, const char *wanted,
                     int64_t now_unix_ms, struct explained_pod *ret_pod, struct error *err) {
        const json_t *items = json_at(root, "items", NULL);
        const json_t *node;
        size_t i;

        if (!items)
                return put_node(table, root, now_unix_ms, err);
        if (json_typeof(items) != JSON_ARRAY)
                return error_set(err, EINVAL, "items: expected an array");
        /* The readings of the nodes are about the pods. */
        json_array_foreach (items, i, node)
                if (is_pod(node))
                        (void)explain_add_pod(table, node, wanted, ret_pod);
        json_array_foreach (items, i, node) {
                int r = is_pod(node) ? 0 : put_node(table, node, now_unix_ms, err);
                if (r < 0)
                        return error_wrap(err, r, "items[%zu]", i);
        }
        return 0;
}

int explain_read(struct node_table *table, const char *path, const char *wanted,
                 int64_t now_unix_ms, struct explained_pod *ret_pod, struct error *err) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(INPUT_MAX_BYTES);
        json_auto_t *root = NULL;

        int r = read_input(path, &text, err);
        if (r == 0)
                r = json_parse(text.data, text.len, &root, err);
        if (r == 0)
                r = put_nodes(table, root, wanted, now_unix_ms, ret_pod, err);
        if (r < 0)
                return error_wrap(err, r, "%s", strcmp(path, "-") == 0 ? "standard input" : path);
        return 0;
}
