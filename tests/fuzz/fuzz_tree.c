/*
 * Documents. Whatever comes in: no crash, and on failure an error with a text and nothing returned.
 * Whatever jansson reads as JSON, tree_parse() reads too, to the same structure.
 */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "codec/tree.h"
#include "fuzz.h"

/* 1.0 and 1 are the same number: jansson keeps no spelling. */
static bool is_same_scalar(const struct tree_node *a, const struct tree_node *b) {
        double number_a = 0, number_b = 0;

        if (a->is_quoted != b->is_quoted)
                return false;
        if (a->text_len == b->text_len && memcmp(a->text, b->text, a->text_len) == 0)
                return true;
        return !a->is_quoted && number_parse(a->text, a->text_len, &number_a) &&
               number_parse(b->text, b->text_len, &number_b) && number_a == number_b;
}

static void require_same(const struct tree_node *a, const struct tree_node *b) {
        require(a->kind == b->kind && a->count == b->count);
        if (a->kind == TREE_SCALAR)
                require(is_same_scalar(a, b));
        for (size_t i = 0; i < a->count; i++) {
                if (a->kind == TREE_MAP)
                        require(strcmp(a->items[i].key, b->items[i].key) == 0);
                require_same(&a->items[i], &b->items[i]);
        }
}

/* Every node has a place inside of the text. That of an alias is its anchor's. */
static void require_places(const struct tree_node *node, size_t line_max) {
        require(node->line >= 1 && node->line <= line_max && node->column >= 1);
        if (node->kind == TREE_SCALAR)
                require(strlen(node->text) == node->text_len);
        for (size_t i = 0; i < node->count; i++) {
                if (node->kind == TREE_MAP)
                        require(tree_get(node, node->items[i].key) == &node->items[i]);
                require_places(&node->items[i], line_max);
        }
}

static bool is_bracketed(const char *text, size_t len) {
        size_t i = 0;

        while (i < len && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r'))
                i++;
        return i < len && (text[i] == '{' || text[i] == '[');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *text = (const char *)data;
        _cleanup_(tree_freep) struct tree *tree = NULL, *by_jansson = NULL;
        struct error err = ERROR_NULL, jansson_err = ERROR_NULL;

        int r = tree_parse(text, size, &tree, &err);
        require((r == 0) == (tree != NULL));
        if (r < 0) {
                require((r == -EINVAL || r == -E2BIG) && err.code == r && err.msg[0] != '\0');
        } else if (tree_root(tree)->line > 0) { /* else jansson has read it */
                /* YAML 1.1 has line breaks that take two or three bytes, and a lone CR. */
                require_places(tree_root(tree), size + 1);
        }

        /* jansson's lone scalars are YAML's affair, and it skips NUL bytes between tokens. */
        if (!is_bracketed(text, size) || memchr(text, '\0', size))
                return 0;
        json_auto_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        if (!json)
                return 0;
        int by_jansson_r = tree_from_json(json, &by_jansson, &jansson_err);
        if (size <= TREE_MAX_BYTES)
                require(r == by_jansson_r);
        if (r == 0)
                require_same(tree_root(tree), tree_root(by_jansson));
        return 0;
}
