import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'
import { ERROR_CODES, PlimsollError, type ErrorCode } from '../../src/core/errors.ts'
import { EVENT_MEANINGS } from '../../src/core/events.ts'
import { statusOf } from '../../src/gateway/answer.ts'
import { code, page, table } from './markdown.ts'

export function errorsPage(): string {
  return page(
    'Error codes',
    'src/core/errors.ts',
    'Every error of the library is a `PlimsollError` with a `code`, `fields` that a program can use, `retryable`, and a message that says what is wrong and what to do. ' +
      'The proxy answers in the client’s API format with this status and the code in `x-plimsoll-error`.',
    table(
      ['Code', 'HTTP status', 'Meaning'],
      Object.entries(ERROR_CODES).map(([name, meaning]) => [
        code(name),
        String(statusOf(new PlimsollError(name as ErrorCode, ''))),
        meaning,
      ]),
    ),
  )
}

export function eventsPage(root: string): string {
  const fields = fieldsByType(readFileSync(join(root, 'src/core/events.ts'), 'utf8'))
  return page(
    'Events',
    'src/core/events.ts',
    'One typed event per decision, at `onEvent`, `plimsoll.on`, `/plimsoll/events` (server-sent) and `/plimsoll/api/events`. Each has `type`, `at` (milliseconds), `tenant`, `session`, ' +
      'and where it applies `agent` and `turn`. Events never hold content of a conversation. A compaction is called *epoch* here: its `epoch` is the id that `undo` and `x-plimsoll-epoch` use.',
    table(
      ['Event', 'Fields', 'Meaning'],
      Object.entries(EVENT_MEANINGS).map(([type, meaning]) => [
        code(type),
        (fields.get(type) ?? []).map(code).join(', '),
        meaning,
      ]),
    ),
  )
}

type Node = { readonly type: string; readonly [key: string]: unknown }

/** By event, the names of its fields, out of the union and the interfaces that it is joined with. */
function fieldsByType(source: string): ReadonlyMap<string, readonly string[]> {
  const { program } = parseSync('events.ts', source)
  const declared = new Map<string, Node>()
  for (const statement of program.body as unknown as readonly Node[]) {
    const declaration = statement['declaration'] as Node | null | undefined
    if (declaration?.type === 'TSInterfaceDeclaration' || declaration?.type === 'TSTypeAliasDeclaration')
      declared.set((declaration['id'] as { name: string }).name, declaration)
  }
  const membersOf = (node: Node): readonly Node[] => {
    switch (node.type) {
      case 'TSTypeLiteral':
        return node['members'] as Node[]
      case 'TSIntersectionType':
        return (node['types'] as Node[]).flatMap(membersOf)
      case 'TSParenthesizedType':
        return membersOf(node['typeAnnotation'] as Node)
      case 'TSTypeReference':
        return membersOf(declared.get((node['typeName'] as { name: string }).name)!)
      case 'TSInterfaceDeclaration':
        return (node['body'] as { body: Node[] }).body
      default:
        return []
    }
  }
  const union = declared.get('EventBody')!['typeAnnotation'] as Node
  return new Map(
    (union['types'] as Node[]).map((event) => {
      const members = membersOf(event).map((member) => ({ member, name: (member['key'] as { name: string }).name }))
      const type = members.find(({ name }) => name === 'type')!.member['typeAnnotation'] as Node
      const literal = ((type['typeAnnotation'] as Node)['literal'] as { value: string }).value
      return [
        literal,
        members
          .filter(({ name }) => name !== 'type')
          .map(({ name, member }) => (member['optional'] === true ? `${name}?` : name)),
      ]
    }),
  )
}
