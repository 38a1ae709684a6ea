import { quoted, shown } from '../kit/rule-kit.ts'
import { isServerBlock, pathOf, type PlacedBlock, type RuleContext, type Turn } from './rule-turns.ts'

const CALL_ID = /^[a-zA-Z0-9_-]+$/

/** Which results belong to which calls, by position and not only by id. */
export function checkPairs(context: RuleContext, turns: readonly Turn[]): void {
  const seen = new Set<string>()
  turns.forEach((turn, index) => {
    if (turn.role === 'assistant') {
      checkCalls(context, turn, turns[index + 1], seen)
      checkServerPairs(context, turn, index === turns.length - 1)
    } else if (turn.role === 'user') {
      checkResults(context, turn, turns[index - 1])
    }
  })
  checkDeclared(context, turns)
}

const blocksOf = (turn: Turn | undefined, type: string): readonly PlacedBlock[] =>
  turn?.blocks.filter(({ block }) => block.type === type) ?? []

function checkCalls({ found }: RuleContext, turn: Turn, next: Turn | undefined, seen: Set<string>): void {
  const calls = blocksOf(turn, 'tool_use')
  if (calls.length === 0) return
  const answered = new Set(
    next?.role === 'user' ? blocksOf(next, 'tool_result').map(({ block }) => block.tool_use_id) : [],
  )
  const open: string[] = []
  for (const placed of calls) {
    const { block } = placed
    const id = typeof block.id === 'string' ? block.id : ''
    if (!CALL_ID.test(id))
      found.report('call-id-format', `${pathOf(placed)}.id`, "String should match pattern '^[a-zA-Z0-9_-]+$'")
    if (seen.has(id)) found.report('unique-call-ids', pathOf(placed), '`tool_use` ids must be unique')
    seen.add(id)
    if (!answered.has(id)) open.push(id)
  }
  if (open.length === 0) return
  found.report(
    'calls-answered',
    `messages.${turn.message}`,
    `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${quoted(open)}. ` +
      'Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
  )
}

function checkResults({ found }: RuleContext, turn: Turn, previous: Turn | undefined): void {
  if (!turn.blocks.some(({ block }) => block.type === 'tool_result')) return
  const calls = new Set(
    previous?.role === 'assistant' ? blocksOf(previous, 'tool_use').map(({ block }) => block.id) : [],
  )
  const answered = new Set<unknown>()
  let other = false
  for (const placed of turn.blocks) {
    const { block } = placed
    if (block.type !== 'tool_result') {
      other = true
      continue
    }
    const id = block.tool_use_id
    if (!calls.has(id)) {
      found.report(
        'results-have-calls',
        pathOf(placed),
        `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${shown(id)}. ` +
          'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
      )
    } else if (answered.has(id)) {
      found.report(
        'results-once',
        pathOf(placed),
        `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${shown(id)}`,
      )
    } else if (other) {
      found.report(
        'results-first',
        pathOf(placed),
        '`tool_result` blocks must come first in the content of a `user` message',
      )
    }
    answered.add(id)
  }
}

/** Server tools answer themselves inside the assistant turn. The types are paired by structure, so new ones are covered. */
function checkServerPairs({ found }: RuleContext, turn: Turn, last: boolean): void {
  if (!turn.blocks.some(({ block }) => isServerBlock(block.type))) return
  const open = new Map<unknown, PlacedBlock>()
  for (const placed of turn.blocks) {
    const { block } = placed
    const type = shown(block.type)
    if (type !== 'tool_use' && type.endsWith('_tool_use')) open.set(block.id, placed)
    else if (type !== 'tool_result' && type.endsWith('_tool_result')) {
      const callType = type === 'mcp_tool_result' ? 'mcp_tool_use' : 'server_tool_use'
      if (!open.delete(block.tool_use_id)) {
        found.report(
          'server-tool-pairs',
          pathOf(placed),
          `unexpected \`tool_use_id\` found in \`${type}\` blocks: ${shown(block.tool_use_id)}. ` +
            `Each \`${type}\` block must have a corresponding \`${callType}\` block before it.`,
        )
      }
    }
  }
  // A paused turn may end with an open server call; the API goes on with it.
  if (last) return
  for (const placed of open.values()) {
    const { block } = placed
    found.report(
      'server-tool-pairs',
      pathOf(placed),
      `\`${shown(block.type)}\` ids were found without a corresponding result block: ${shown(block.id)}`,
    )
  }
}

function checkDeclared({ body, found, profiles }: RuleContext, turns: readonly Turn[]): void {
  if (!profiles.has('bedrock') || (Array.isArray(body.tools) && body.tools.length > 0)) return
  const used = turns.find((turn) =>
    turn.blocks.some(({ block }) => block.type === 'tool_use' || block.type === 'tool_result'),
  )
  if (used === undefined) return
  found.report(
    'history-tools-declared',
    `messages.${used.message}`,
    'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
  )
}
