import { listOf, type Fields, recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from './reading.ts'

/**
 * Function declarations as OpenAI's models read them: TypeScript types in a namespace. The vendor counts this text, not the JSON on the wire; its
 * length agrees with recorded requests within a few tokens.
 */
export function declaredAs(tool: unknown): string {
  const fields = recordOf(tool) ?? {}
  const body = recordOf(fields['function']) ?? fields
  const name = stringOf(body['name']) ?? ''
  const parameters = recordOf(body['parameters'])
  const comment = commentOf(stringOf(body['description']))
  const types = parameters === undefined ? '' : membersOf(parameters, { root: parameters, depth: 0 })
  const given = types === '' ? '()' : `(_: ${notesOf(parameters!)}{\n${types}})`
  return `${comment}type ${name} = ${given} => any;\n\n`
}

interface SchemaPosition {
  /** The schema in which references are resolved. */
  readonly root: Fields
  readonly depth: number
}

/** Deeper schemas are hostile or refer to themselves. */
const MOST_DEPTH = 8
const MOST_MEMBERS = 500

/** Only the first line of a note gets a comment mark. */
const commentOf = (text: string | undefined): string =>
  text === undefined || text.trim() === '' ? '' : `// ${text.trim()}\n`

/** The title comes before the description, each on its own lines. */
const notesOf = (schema: Fields, indent = ''): string =>
  [schema['title'], schema['description']]
    .map((note) => commentOf(stringOf(note)))
    .map((note) => (note === '' ? '' : `${indent}${note}`))
    .join('')

function membersOf(schema: Fields, place: SchemaPosition): string {
  const required = new Set(listOf(schema['required']))
  const indent = '  '.repeat(place.depth)
  return Object.entries(recordOf(schema['properties']) ?? {})
    .slice(0, MOST_MEMBERS)
    .map(([name, value]) => {
      const member = recordOf(value) ?? {}
      const mark = required.has(name) ? '' : '?'
      const preset = 'default' in member ? ` // default: ${JSON.stringify(member['default'])}` : ''
      return `${notesOf(member, indent)}${indent}${name}${mark}: ${typeOf(member, place)},${preset}\n`
    })
    .join('')
}

function typeOf(schema: Fields, place: SchemaPosition): string {
  if (place.depth > MOST_DEPTH) return 'any'
  const found = referredTo(schema, place.root)
  if (found !== undefined) return typeOf(found, { ...place, depth: place.depth + 1 })
  if (schema['const'] !== undefined) return JSON.stringify(schema['const'])
  const values = arrayOf(schema['enum'])
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' | ')
  const choices = arrayOf(schema['anyOf']) ?? arrayOf(schema['oneOf'])
  if (choices !== undefined) return choices.map((choice) => typeOf(recordOf(choice) ?? {}, place)).join(' | ')
  const types = arrayOf(schema['type'])
  if (types !== undefined) return types.map((type) => typeOf({ ...schema, type }, place)).join(' | ')
  switch (schema['type']) {
    case 'array': {
      const items = recordOf(schema['items'])
      return `${items === undefined ? 'any' : typeOf(items, place)}[]`
    }
    case 'object':
    case undefined: {
      const members = membersOf(schema, { ...place, depth: place.depth + 1 })
      return members === '' ? (schema['type'] === 'object' ? 'object' : 'any') : `{\n${members}}`
    }
    default:
      return stringOf(schema['type']) ?? 'any'
  }
}

function referredTo(schema: Fields, root: Fields): Fields | undefined {
  const [, kind, name] = /^#\/(\$defs|definitions)\/(.+)$/.exec(stringOf(schema['$ref']) ?? '') ?? []
  return name === undefined ? undefined : recordOf(recordOf(root[kind!])?.[name])
}

/** An answer's schema as the same models read it: the JSON without members that strict mode implies. */
export function responseFormatAs(format: Fields): string | undefined {
  const { name, description, schema } = format
  if (recordOf(schema) === undefined) return undefined
  const note = stringOf(description) === undefined ? '' : `// ${stringOf(description)}\n`
  return `# Response Formats\n\n## ${stringOf(name) ?? ''}\n\n${note}${JSON.stringify(schema, withoutImplied)}`
}

/** Removes members of the schema language, but not properties with the same name. */
const withoutImplied = (key: string, value: unknown): unknown =>
  (key === 'additionalProperties' && typeof value === 'boolean') || (key === 'required' && Array.isArray(value))
    ? undefined
    : value

const DEFINED = /^#\/(?:\$defs|definitions)\/(.+)$/

/** A schema with more definitions is hostile. */
const MOST_DEFINITIONS = 200

/** Whether a definition of a schema refers to itself, directly or through others. */
export function isRecursiveSchema(schema: unknown): boolean {
  const fields = recordOf(schema) ?? {}
  const definitions = Object.entries({ ...recordOf(fields['definitions']), ...recordOf(fields['$defs']) })
  let left = new Map(definitions.slice(0, MOST_DEFINITIONS).map(([name, body]) => [name, [...referencesIn(body)]]))
  // Removes definitions that refer to no remaining definition, until none is left or the rest is recursive.
  for (;;) {
    const next = new Map([...left].filter(([, names]) => names.some((name) => left.has(name))))
    if (next.size === left.size) return next.size > 0
    left = next
  }
}

function referencesIn(body: unknown): ReadonlySet<string> {
  const found = new Set<string>()
  const waiting: unknown[] = [body]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (Array.isArray(value)) waiting.push(...value)
    const fields = recordOf(value)
    if (fields === undefined) continue
    const [, name] = DEFINED.exec(stringOf(fields['$ref']) ?? '') ?? []
    if (name !== undefined) found.add(name)
    waiting.push(...Object.values(fields))
  }
  return found
}
