#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "codec/tree_builder.h"

static struct tree_mark mark_of(yaml_mark_t mark) {
        return (struct tree_mark){(unsigned)mark.line + 1, (unsigned)mark.column + 1};
}

static bool is_tab_at(const char *text, size_t len, size_t char_index) {
        size_t at = 0;

        for (size_t i = 0; i < char_index; i++)
                at = size_min(at + size_max(utf8_sequence_len(text + at, len - at), 1), len);
        return at < len && text[at] == '\t';
}

struct reading {
        yaml_parser_t parser;
        const char *text;
        size_t len;
        struct tree *tree;
};

static int fail_with_parser(const struct reading *reading, struct error *err) {
        const yaml_parser_t *parser = &reading->parser;
        const char *text = reading->text;
        size_t len = reading->len;
        struct tree_mark at = mark_of(parser->problem_mark);

        if (parser->error == YAML_MEMORY_ERROR)
                mem_exhausted();
        if (parser->error == YAML_READER_ERROR) {
                /* The reader reports a byte offset; the scanner and the parser report a mark. */
                utf8_place(text, size_min(parser->problem_offset, len), &at.line, &at.column);
                return tree_fail(EINVAL, at, err, "not UTF-8 text: %s", parser->problem);
        }
        if (parser->error == YAML_SCANNER_ERROR && is_tab_at(text, len, parser->problem_mark.index))
                return tree_fail(EINVAL, at, err,
                                 "a tab in the indentation, which YAML does not allow");
        if (!parser->context)
                return tree_fail(EINVAL, at, err, "%s", parser->problem);
        struct tree_mark began = mark_of(parser->context_mark);
        return tree_fail(EINVAL, at, err, "%s (%s that begins on line %u)", parser->problem,
                         parser->context, began.line);
}

static int next_event(struct reading *reading, yaml_event_t *event, struct error *err) {
        yaml_event_delete(event);
        return yaml_parser_parse(&reading->parser, event) ? 0 : fail_with_parser(reading, err);
}

/* Most configuration files need none, and they make files hard to read. */
static int check_tag(const yaml_char_t *tag, struct tree_mark at, struct error *err) {
        if (!tag)
                return 0;
        return tree_fail(EINVAL, at, err, "tags (%.64s) are not supported", (const char *)tag);
}

static int read_key(struct reading *reading, const yaml_event_t *event, struct strmap *keys,
                    struct tree_node *item, struct error *err) {
        struct tree_mark at = mark_of(event->start_mark);
        const char *text = (const char *)event->data.scalar.value;

        if (event->type != YAML_SCALAR_EVENT)
                return tree_fail(EINVAL, at, err,
                                 "expected plain text as a key, got a list, map or alias");
        if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strcmp(text, "<<") == 0)
                return tree_fail(EINVAL, at, err, "merge keys (<<) are not supported");
        int r = check_tag(event->data.scalar.tag, at, err);
        return r < 0 ? r
                     : tree_key(reading->tree, item, keys, text, event->data.scalar.length, at,
                                err);
}

static int read_value(struct reading *reading, const yaml_event_t *event, struct tree_node *to,
                      struct error *err);

/* The items of a list or map, up to its end. */
static int read_items(struct reading *reading, struct tree_node *to, struct tree_mark at,
                      struct error *err) {
        _cleanup_(strmap_done) struct strmap keys = STRMAP_NULL;
        _cleanup_(yaml_event_delete) yaml_event_t event = {0};
        _cleanup_(freep) struct tree_node *items = NULL;
        size_t count = 0, cap = 0;

        int r = tree_begin(reading->tree, to, to->kind, at, err);
        while (r == 0 && (r = next_event(reading, &event, err)) == 0 &&
               event.type != YAML_SEQUENCE_END_EVENT && event.type != YAML_MAPPING_END_EVENT) {
                mem_grow(&items, count, &cap);
                struct tree_node *item = &items[count++];
                *item = (struct tree_node){0};
                if (to->kind == TREE_MAP)
                        r = read_key(reading, &event, &keys, item, err);
                if (r == 0 && to->kind == TREE_MAP)
                        r = next_event(reading, &event, err);
                if (r == 0)
                        r = read_value(reading, &event, item, err);
        }
        tree_end(reading->tree, to, items, count);
        return r;
}

static int read_value(struct reading *reading, const yaml_event_t *event, struct tree_node *to,
                      struct error *err) {
        struct tree_mark at = mark_of(event->start_mark);
        const yaml_char_t *tag = event->data.scalar.tag, *anchor = event->data.scalar.anchor;
        bool is_map = event->type == YAML_MAPPING_START_EVENT;

        if (event->type == YAML_ALIAS_EVENT)
                return tree_alias(reading->tree, to, (const char *)event->data.alias.anchor, at,
                                  err);
        if (event->type != YAML_SCALAR_EVENT) {
                to->kind = is_map ? TREE_MAP : TREE_LIST;
                tag = is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
                anchor = is_map ? event->data.mapping_start.anchor
                                : event->data.sequence_start.anchor;
        }
        int r = check_tag(tag, at, err);
        if (r == 0 && event->type == YAML_SCALAR_EVENT)
                r = tree_scalar(reading->tree, to, (const char *)event->data.scalar.value,
                                event->data.scalar.length,
                                event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE, at, err);
        else if (r == 0)
                r = read_items(reading, to, at, err);
        if (r == 0 && anchor)
                tree_anchor(reading->tree, (const char *)anchor, to);
        return r;
}

static int read_document(struct reading *reading, struct error *err) {
        struct tree_node *root = tree_new_root(reading->tree);
        _cleanup_(yaml_event_delete) yaml_event_t event = {0};
        bool has_root = false;
        int r;

        while ((r = next_event(reading, &event, err)) == 0 && event.type != YAML_STREAM_END_EVENT) {
                struct tree_mark at = mark_of(event.start_mark);
                if (event.type == YAML_DOCUMENT_START_EVENT && has_root)
                        return tree_fail(EINVAL, at, err, "expected one document, got a second");
                if (event.type == YAML_STREAM_START_EVENT ||
                    event.type == YAML_DOCUMENT_START_EVENT ||
                    event.type == YAML_DOCUMENT_END_EVENT)
                        continue;
                has_root = true;
                r = read_value(reading, &event, root, err);
                if (r < 0)
                        return r;
                if (tree_is_null(root) && root->text_len == 0)
                        return tree_fail(EINVAL, at, err, "the document is empty");
        }
        if (r == 0 && !has_root)
                return tree_fail(EINVAL, mark_of(event.start_mark), err, "the document is empty");
        return r;
}

int tree_read_yaml(struct tree *tree, const char *text, size_t len, struct error *err) {
        struct reading reading = {.text = text, .len = len, .tree = tree};

        if (!yaml_parser_initialize(&reading.parser))
                mem_exhausted();
        /* Otherwise a UTF-16 byte order mark would switch the encoding. */
        yaml_parser_set_encoding(&reading.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&reading.parser, (const unsigned char *)text, len);
        int r = read_document(&reading, err);
        yaml_parser_delete(&reading.parser);
        return r;
}
