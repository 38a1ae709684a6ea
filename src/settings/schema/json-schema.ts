import { CONFIG, type Shape } from './shape.ts'

/** The JSON Schema of a config file, for editors. */
export const configJsonSchema = (): Record<string, unknown> => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Plimsoll config',
  ...schemaOf(CONFIG),
})

function schemaOf(shape: Shape): Record<string, unknown> {
  const description = shape.about
  switch (shape.kind) {
    case 'object': {
      const group = {
        type: 'object',
        description,
        additionalProperties: false,
        properties: Object.fromEntries(Object.entries(shape.fields).map(([key, field]) => [key, schemaOf(field)])),
        ...(shape.required !== undefined && { required: [...shape.required] }),
        ...(shape.needs !== undefined && {
          dependentRequired: Object.fromEntries(Object.entries(shape.needs).map(([key, other]) => [key, [other]])),
        }),
      }
      return shape.short === undefined ? group : { anyOf: [{ type: 'string', description }, group] }
    }
    case 'map':
      return {
        type: 'object',
        description,
        additionalProperties: schemaOf(shape.of),
        ...(shape.keys !== undefined && { propertyNames: { pattern: shape.keys.pattern } }),
      }
    case 'one-or-more':
      return { description, anyOf: [schemaOf(shape.of), { type: 'array', items: schemaOf(shape.of) }] }
    case 'list':
      return { type: 'array', description, items: schemaOf(shape.of) }
    case 'switch':
      return { type: 'boolean', description }
    case 'text':
      return { type: 'string', description, ...(shape.oneOf !== undefined && { enum: [...shape.oneOf] }) }
    case 'number': {
      const { min, max, unit } = shape
      const type = unit === 'share' || unit === 'factor' || unit === 'usd' ? 'number' : 'integer'
      const number = { type, ...(min !== undefined && { minimum: min }), ...(max !== undefined && { maximum: max }) }
      return { description, anyOf: [number, { type: 'string', pattern: PATTERNS[unit] }] }
    }
  }
}

const PATTERNS = {
  share: '^[0-9.]+%?$',
  tokens: '^[0-9_,.]+[kKmM]?$',
  count: '^[0-9_,.]+[kKmM]?$',
  chars: '^[0-9_,.]+[kKmM]?$',
  bytes: '^[0-9_,.]+ ?(B|kB|KB|MB|GB|KiB|MiB|GiB)?$',
  factor: '^[0-9.]+[x×]?$',
  usd: '^\\$?[0-9.]+ ?(\\$|USD)?$',
} as const
