import { join } from 'node:path'
import * as v from 'valibot'
import { GATEWAY, LIBRARY, PROXY, SETTINGS, type Settings } from '../../src/settings/settings.ts'
import { unitWords, type Unit } from '../../src/settings/values.ts'
import { parts, withoutOptional } from '../../src/util/json-schema.ts'
import { PRESET_VARIABLES, variablesOf } from '../../src/settings/variables.ts'
import { FOREIGN_VARIABLES } from './foreign-variables.ts'
import { code, page, sentence, table } from './markdown.ts'
import { commentsIn } from './sources.ts'

interface Row {
  readonly key: string
  readonly schema: v.GenericSchema
}

/** Every key below a schema. Groups that stand in several places are listed once, where they stand first. */
function rowsOf(schema: v.GenericSchema, path: string, seen: Set<unknown>): readonly Row[] {
  const own = { key: path, schema }
  const known = parts(schema)
  switch (known.type) {
    case 'object_with_rest': {
      if (seen.has(known.entries)) return [own]
      seen.add(known.entries)
      return [
        own,
        ...Object.entries(known.entries).flatMap(([key, field]) =>
          rowsOf(withoutOptional(field), `${path}.${key}`, seen),
        ),
      ]
    }
    case 'record':
      return [own, ...below(known.value, `${path}.<name>`, seen)]
    case 'array':
      return [own, ...below(known.item, `${path}[]`, seen)]
    case 'union': {
      const [several, one] = groupsIn(known)
      return [
        own,
        ...(one === undefined ? rowsOf(several!, path, seen) : below(one, `${path}[]`, seen)).filter(
          ({ key }) => key !== path,
        ),
      ]
    }
    default:
      return [own]
  }
}

/** A list of plain values has nothing to list below it. */
const below = (schema: v.GenericSchema, path: string, seen: Set<unknown>): readonly Row[] =>
  ['object_with_rest', 'record', 'union'].includes(schema.type)
    ? rowsOf(schema, path, seen).filter(({ key }) => key !== path || schema.type === 'union')
    : []

/** What of several forms has keys below it. */
const groupsIn = ({ options }: { readonly options: readonly v.GenericSchema[] }): readonly v.GenericSchema[] =>
  options.filter(({ type }) => type !== 'string')

interface About {
  readonly unit?: Unit
  readonly min?: number
  readonly max?: number
  readonly words?: string
}

function typeOf(schema: v.GenericSchema): string {
  const known = parts(schema)
  const about = v.getMetadata(schema) as About
  switch (known.type) {
    case 'picklist':
      return known.options.map(code).join(', ')
    case 'boolean':
      return '`true` or `false`'
    case 'number':
      return unitWords(about.unit!) + rangeOf(about)
    case 'array':
      return 'a list'
    case 'record': {
      const { words } = v.getMetadata(known.key) as About
      return words === undefined ? 'keys are names' : `keys are each ${words}`
    }
    case 'object_with_rest':
      return 'keys below'
    case 'union':
      return known.options.some(({ type }) => type === 'array') ? 'one, or a list' : 'keys below, or only its `url`'
    default:
      return about.words ?? 'text'
  }
}

function rangeOf({ min = 0, max = Infinity }: About): string {
  if (max !== Infinity) return `; ${min} to ${max}`
  return min === 0 ? '' : `; at least ${min}`
}

export function configurationPage(settings: Settings = SETTINGS): string {
  const seen = new Set<unknown>()
  const rowsIn = (name: string): string[][] => {
    const { code: own, where } = settings[name]!
    if (where.file === false) return []
    const whose = Object.hasOwn({ ...GATEWAY, ...PROXY }, name) ? 'Proxy: ' : ''
    const fallback = where.default === undefined ? '' : ` Default: ${String(where.default)}.`
    return rowsOf(where.file ?? own, name, seen).map(({ key, schema }) => {
      const about = sentence(v.getDescription(schema) ?? '')
      return [code(key), typeOf(schema), key === name ? `${whose}${about}${fallback}` : about]
    })
  }
  // Policies and agents have the keys of `override` too; they are listed there.
  const override = rowsIn('override')
  const rows = Object.keys(settings).flatMap((name) => (name === 'override' ? override : rowsIn(name)))
  return page(
    'Configuration reference',
    SOURCE,
    'Every key of a settings file (YAML, JSON or a module). Which file is read and what wins: [running it](../operating.md#configure). ' +
      '`override` below a policy or an agent takes the same keys as `override` at the top.',
    table(['Key', 'Value', 'Meaning'], rows),
    '## Options in code',
    'What `createPlimsoll` takes. An option that is `undefined` is one that is not given.',
    optionsTable('LIBRARY', LIBRARY),
    '### Of the gateway',
    'Options of `createPlimsoll` that only requests through `plimsoll.fetch`, the gateway and the proxy read.',
    optionsTable('GATEWAY', GATEWAY),
    '### Of the proxy',
    'What `startProxy` takes of the settings.',
    optionsTable('PROXY', PROXY),
  )
}

const SOURCE = 'src/settings/settings.ts'

/** Options with the comments that editors show. */
function optionsTable(name: string, settings: Settings): string {
  const comments = commentsIn(join(import.meta.dirname, '../..', SOURCE), name)
  const rows = Object.entries(settings).flatMap(([key, { code: schema }]) => {
    const about = comments[key] ?? ''
    return about.startsWith('@internal')
      ? []
      : [[code(key), codeType(schema), sentence(about.replace(/ ?@default (.*)$/, ' Default: $1'))]]
  })
  return table(['Option', 'Value', 'Meaning'], rows)
}

/** What a program hands over, in words: schemas say it in their messages. */
function codeType(schema: v.GenericSchema): string {
  const result = v.safeParse(schema, Symbol('none'))
  return (result.issues?.[0].message ?? 'anything').replace(/\b(?:[A-Z]\w*Array|\w+\(\))/g, code)
}

const variableRows = (variables: readonly { readonly name: string; readonly about: string }[]): string[][] =>
  variables.map(({ name, about }) => [code(name), sentence(about)])

export function environmentPage(settings: Settings = SETTINGS): string {
  return page(
    'Environment variables',
    SOURCE,
    'A flag wins over a variable, and a variable over a settings file.',
    '## Plimsoll',
    table(['Variable', 'Meaning'], variableRows(variablesOf(settings))),
    '## Of others',
    'Providers’ keys and base URLs are read by `plimsoll chat` only ([the list](../cli.md#a-chat-that-stays-inside-its-window)); a proxy forwards the credentials of its clients.',
    table(['Variable', 'Meaning'], variableRows(FOREIGN_VARIABLES)),
    '## Of presets',
    'Read when the preset of that design is chosen; its own documentation defines them.',
    table(
      ['Preset', 'Variables'],
      Object.entries(PRESET_VARIABLES).map(([preset, names]) => [code(preset), names.map(code).join(', ')]),
    ),
  )
}
