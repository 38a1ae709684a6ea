import { PRESET_VARIABLES, VARIABLES } from '../../src/settings/environment.ts'
import { unitWords } from '../../src/settings/schema/read-number.ts'
import { CONFIG, type Shape } from '../../src/settings/schema/shape.ts'
import { FOREIGN_VARIABLES } from './foreign-variables.ts'
import { code, page, sentence, table } from './markdown.ts'

interface Row {
  readonly key: string
  readonly shape: Shape
}

/** Every key below a shape. Keys that repeat whole groups are listed once, where they stand first. */
function rowsOf(shape: Shape, path: string, seen: Set<Shape>): readonly Row[] {
  const own = { key: path, shape }
  switch (shape.kind) {
    case 'object': {
      if (seen.has(shape)) return [own]
      seen.add(shape)
      const fields = Object.entries(shape.fields)
      return [own, ...fields.flatMap(([key, field]) => rowsOf(field, path === '' ? key : `${path}.${key}`, seen))]
    }
    case 'map':
      return [own, ...below(shape.of, `${path}.<name>`, seen)]
    case 'list':
    case 'one-or-more':
      return [own, ...below(shape.of, `${path}[]`, seen)]
    default:
      return [own]
  }
}

/** A list of plain values has nothing to list below it. */
const below = (shape: Shape, path: string, seen: Set<Shape>): readonly Row[] =>
  shape.kind === 'object' || shape.kind === 'map' || shape.kind === 'one-or-more'
    ? rowsOf(shape, path, seen).filter(({ key }) => key !== path || shape.kind !== 'object')
    : []

function typeOf(shape: Shape): string {
  switch (shape.kind) {
    case 'text':
      return shape.oneOf === undefined ? 'text' : shape.oneOf.map(code).join(', ')
    case 'switch':
      return '`true` or `false`'
    case 'number':
      return unitWords(shape.unit) + rangeOf(shape)
    case 'list':
      return 'a list'
    case 'one-or-more':
      return 'one, or a list'
    case 'map':
      return shape.keys === undefined ? 'keys are names' : `keys are each ${shape.keys.words}`
    case 'object':
      return shape.short === undefined ? 'keys below' : `keys below, or only its ${code(shape.short)}`
  }
}

function rangeOf({ min, max }: Extract<Shape, { kind: 'number' }>): string {
  if (max !== undefined) return `; ${min ?? 0} to ${max}`
  return min === undefined || min === 0 ? '' : `; at least ${min}`
}

export function configurationPage(): string {
  const seen = new Set<Shape>()
  const groups = Object.entries(CONFIG.fields).map(([key, shape]) => rowsOf(shape, key, seen))
  const rows = groups
    .flat()
    .map(({ key, shape }) => [code(key), typeOf(shape), sentence(shape.about.replace(/^proxy: /, 'Proxy: '))])
  return page(
    'Configuration reference',
    'src/settings/schema/shape.ts',
    'Every key of a settings file (YAML, JSON or a module). Which file is read and what wins: [configuring](../configuring.md). ' +
      '`override` below a policy or an agent takes the same keys as `override` at the top.',
    table(['Key', 'Value', 'Meaning'], rows),
  )
}

const variableRows = (variables: readonly { readonly name: string; readonly about: string }[]): string[][] =>
  variables.map(({ name, about }) => [code(name), sentence(about)])

export function environmentPage(): string {
  return page(
    'Environment variables',
    'src/settings/environment.ts',
    'A flag wins over a variable, and a variable over a settings file.',
    '## Plimsoll',
    table(['Variable', 'Meaning'], variableRows(VARIABLES)),
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
