/*
 * Documents. Whatever comes in: no crash, and on failure an error with a text and nothing returned.
 */
#include <errno.h>
#include <string.h>

#include "codec/tree.h"
#include "fuzz.h"

/* Every node has a place inside of the text. That of an alias is its anchor's. */
static void require_places(const struct tree_node *node, size_t line_max) {
        require(node->line >= 1 && node->line <= line_max);
        if (node->kind == TREE_SCALAR)
                require(strlen(node->text) == node->text_len);
        for (size_t i = 0; i < node->count; i++) {
                if (node->kind == TREE_MAP)
                        require(tree_get(node, node->items[i].key) == &node->items[i]);
                require_places(&node->items[i], line_max);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(tree_freep) struct tree *tree = NULL;
        struct error err = ERROR_NULL;

        int r = tree_parse((const char *)data, size, &tree, &err);
        require((r == 0) == (tree != NULL));
        if (r < 0)
                require((r == -EINVAL || r == -E2BIG) && err.code == r && err.msg[0] != '\0');
        else
                /* YAML 1.1 has line breaks that take two or three bytes, and a lone CR. */
                require_places(tree_root(tree), size + 1);
        return 0;
}
