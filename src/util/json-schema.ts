import * as v from 'valibot'

type Entries = Readonly<Record<string, v.GenericSchema>>

/** The parts of a schema that contain other schemas, by its type. */
type Known =
  | { readonly type: 'optional' | 'lazy'; readonly wrapped?: v.GenericSchema }
  | { readonly type: 'object_with_rest'; readonly entries: Entries; readonly rest: v.GenericSchema }
  | { readonly type: 'record'; readonly key: v.GenericSchema; readonly value: v.GenericSchema }
  | { readonly type: 'array'; readonly item: v.GenericSchema }
  | { readonly type: 'union'; readonly options: readonly v.GenericSchema[] }
  | { readonly type: 'picklist'; readonly options: readonly string[] }
  | { readonly type: 'string' | 'boolean' | 'number' | 'never' | 'unknown' | 'custom' | 'instance' }

/** A schema as a union type, for code that walks it. */
export const parts = (schema: v.GenericSchema): Known => schema as unknown as Known

const isOptional = (schema: v.GenericSchema): boolean => schema.type === 'optional'

/** The schema without its `optional`. */
export function withoutOptional(schema: v.GenericSchema): v.GenericSchema {
  const known = parts(schema)
  return known.type === 'optional' && known.wrapped !== undefined ? known.wrapped : schema
}

/**
 * A schema as JSON Schema. Not the library's own converter, because tool declarations are part of prompts that providers cache, and the order of keys
 * must not change with a version. `json` in a schema's metadata is merged in.
 */
export function jsonSchemaOf(schema: v.GenericSchema): Record<string, unknown> {
  const inner = withoutOptional(schema)
  const description = v.getDescription(inner)
  const { json } = v.getMetadata(inner) as { json?: object }
  return { ...typed(parts(inner)), ...json, ...(description !== undefined && { description }) }
}

function typed(schema: Known): Record<string, unknown> {
  switch (schema.type) {
    case 'object_with_rest':
      return {
        type: 'object',
        properties: Object.fromEntries(Object.entries(schema.entries).map(([key, one]) => [key, jsonSchemaOf(one)])),
        required: Object.keys(schema.entries).filter((key) => !isOptional(schema.entries[key]!)),
        ...(schema.rest.type === 'never' && { additionalProperties: false }),
      }
    case 'record':
      return { type: 'object', additionalProperties: jsonSchemaOf(schema.value) }
    case 'array':
      return { type: 'array', items: jsonSchemaOf(schema.item) }
    case 'union':
      return { anyOf: schema.options.map(jsonSchemaOf) }
    case 'picklist':
      return { type: 'string', enum: [...schema.options] }
    case 'string':
    case 'boolean':
      return { type: schema.type }
    default:
      return {}
  }
}
