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

        for (size_t i = 0; i < char_index && at < len; i++) {
                size_t sequence = utf8_sequence_len(text + at, len - at);
                at += size_max(sequence, 1);
        }
        return at < len && text[at] == '\t';
}

static int fail_with_parser(const yaml_parser_t *parser, const char *text, size_t len,
                            struct error *err) {
        struct tree_mark at = mark_of(parser->problem_mark);

        if (parser->error == YAML_MEMORY_ERROR)
                mem_exhausted();
        if (parser->error == YAML_READER_ERROR) {
                /* The reader reports a byte offset; the scanner and the parser report a mark. */
                utf8_place(text, size_min(parser->problem_offset, len), &at.line, &at.column);
                return tree_builder_fail(EINVAL, at, err, "not UTF-8 text: %s", parser->problem);
        }
        if (parser->error == YAML_SCANNER_ERROR && is_tab_at(text, len, parser->problem_mark.index))
                return tree_builder_fail(EINVAL, at, err,
                                         "a tab in the indentation, which YAML does not allow");
        if (!parser->context)
                return tree_builder_fail(EINVAL, at, err, "%s", parser->problem);
        struct tree_mark began = mark_of(parser->context_mark);
        return tree_builder_fail(EINVAL, at, err, "%s (%s that begins on line %u)", parser->problem,
                                 parser->context, began.line);
}

/* Most configuration files need neither, and both make files hard to read. */
static int take_decorations(struct tree_builder *builder, const yaml_char_t *anchor,
                            const yaml_char_t *tag, struct tree_mark at, struct error *err) {
        bool is_allowed = builder->allows_aliases && !tree_builder_wants_key(builder);

        if (anchor && !is_allowed)
                return tree_builder_fail(EINVAL, at, err, "anchors (&%.64s) are not supported",
                                         (const char *)anchor);
        if (tag)
                return tree_builder_fail(EINVAL, at, err, "tags (%.64s) are not supported",
                                         (const char *)tag);
        if (anchor)
                tree_builder_anchor(builder, (const char *)anchor);
        return 0;
}

static int read_scalar(struct tree_builder *builder, const yaml_event_t *event, struct error *err) {
        struct tree_mark at = mark_of(event->start_mark);
        const char *text = (const char *)event->data.scalar.value;
        size_t len = event->data.scalar.length;
        bool is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        int r = take_decorations(builder, event->data.scalar.anchor, event->data.scalar.tag, at,
                                 err);

        if (r < 0)
                return r;
        if (!tree_builder_wants_key(builder)) {
                if (builder->depth == 0 && len == 0 && !is_quoted)
                        return tree_builder_fail(EINVAL, at, err, "the document is empty");
                return tree_builder_scalar(builder, text, len, is_quoted, at, err);
        }
        if (!is_quoted && strcmp(text, "<<") == 0)
                return tree_builder_fail(EINVAL, at, err, "merge keys (<<) are not supported");
        return tree_builder_key(builder, text, len, at, err);
}

static int read_begin(struct tree_builder *builder, const yaml_event_t *event, struct error *err) {
        struct tree_mark at = mark_of(event->start_mark);
        bool is_map = event->type == YAML_MAPPING_START_EVENT;
        int r = is_map ? take_decorations(builder, event->data.mapping_start.anchor,
                                          event->data.mapping_start.tag, at, err)
                       : take_decorations(builder, event->data.sequence_start.anchor,
                                          event->data.sequence_start.tag, at, err);

        if (r < 0)
                return r;
        if (tree_builder_wants_key(builder))
                return tree_builder_fail(EINVAL, at, err,
                                         "expected plain text as a key, got a list or map");
        return tree_builder_begin(builder, is_map ? TREE_MAP : TREE_LIST, at, err);
}

static int read_alias(struct tree_builder *builder, const char *name, struct tree_mark at,
                      struct error *err) {
        if (!builder->allows_aliases || tree_builder_wants_key(builder))
                return tree_builder_fail(EINVAL, at, err, "aliases (*%.64s) are not supported",
                                         name);
        return tree_builder_alias(builder, name, at, err);
}

static int read_yaml_event(struct tree_builder *builder, const yaml_event_t *event,
                           struct error *err) {
        struct tree_mark at = mark_of(event->start_mark);

        switch (event->type) {
        case YAML_SCALAR_EVENT:
                return read_scalar(builder, event, err);
        case YAML_SEQUENCE_START_EVENT:
        case YAML_MAPPING_START_EVENT:
                return read_begin(builder, event, err);
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
                tree_builder_end(builder);
                return 0;
        case YAML_ALIAS_EVENT:
                return read_alias(builder, (const char *)event->data.alias.anchor, at, err);
        case YAML_DOCUMENT_START_EVENT:
                if (builder->has_root)
                        return tree_builder_fail(EINVAL, at, err,
                                                 "expected one document, got a second");
                return 0;
        case YAML_STREAM_END_EVENT:
                if (!builder->has_root)
                        return tree_builder_fail(EINVAL, at, err, "the document is empty");
                return 0;
        case YAML_NO_EVENT:
        case YAML_STREAM_START_EVENT:
        case YAML_DOCUMENT_END_EVENT:
                break;
        }
        return 0;
}

int tree_read_yaml(struct tree_builder *builder, const char *text, size_t len, struct error *err) {
        _cleanup_(yaml_parser_delete) yaml_parser_t parser;

        if (!yaml_parser_initialize(&parser))
                mem_exhausted();
        /* Otherwise a UTF-16 byte order mark would switch the encoding. */
        yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
        for (bool at_end = false; !at_end;) {
                _cleanup_(yaml_event_delete) yaml_event_t event;
                if (!yaml_parser_parse(&parser, &event))
                        return fail_with_parser(&parser, text, len, err);
                int r = read_yaml_event(builder, &event, err);
                if (r < 0)
                        return r;
                at_end = event.type == YAML_STREAM_END_EVENT;
        }
        return 0;
}
