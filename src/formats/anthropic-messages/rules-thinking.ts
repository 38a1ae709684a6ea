import { type Fields, isRecord, recordsIn } from '../../core/values.ts'
import { shown } from '../kit/rule-kit.ts'
import { pathOf, type PlacedBlock, type RuleContext, type Turn } from './rule-turns.ts'

const THINKING = new Set(['thinking', 'redacted_thinking'])
const isThinking = ({ block }: PlacedBlock): boolean => THINKING.has(shown(block.type))

/** Rules of thinking that can be seen in one body. Signatures and bindings need the issuer: the referee checks those. */
export function checkThinking(context: RuleContext, turns: readonly Turn[]): void {
  const { body, found } = context
  for (const turn of turns) {
    for (const placed of turn.blocks) {
      if (!isThinking(placed)) continue
      const { block } = placed
      if (block.type === 'thinking' && (typeof block.thinking !== 'string' || !isFilled(block.signature))) {
        found.report('thinking-shape', `${pathOf(placed)}.signature`, 'Field required')
      } else if (block.type === 'redacted_thinking' && !isFilled(block.data)) {
        found.report('thinking-shape', `${pathOf(placed)}.data`, 'Field required')
      }
    }
  }
  const thinking = isRecord(body.thinking) ? body.thinking : {}
  if (thinking.type === 'enabled') checkOpenStep(context, turns)
}

const isFilled = (value: unknown): boolean => typeof value === 'string' && value !== ''

/** In an open tool step the first assistant turn after the user's own words begins with thinking. */
function checkOpenStep({ found }: RuleContext, turns: readonly Turn[]): void {
  const last = turns.at(-1)
  if (last === undefined || last.role !== 'user') return
  if (!last.blocks.some(({ block }) => block.type === 'tool_result')) return
  const step = turns.at(-2)
  const first = step?.blocks[0]
  if (step?.role !== 'assistant' || first === undefined || isThinking(first)) return
  found.report(
    'thinking-first',
    pathOf(first),
    `Expected \`thinking\` or \`redacted_thinking\`, but found \`${shown(first.block.type)}\`. When \`thinking\` is enabled, ` +
      'a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and ' +
      '`tool_result` blocks).',
  )
}

/** Rules between the thinking setting and the rest of the envelope. */
export function checkThinkingSettings({ body, found, traits }: RuleContext): void {
  const thinking = isRecord(body.thinking) ? body.thinking : {}
  const on = thinking.type === 'enabled' || thinking.type === 'adaptive'
  const edits = isRecord(body.context_management) ? recordsIn(body.context_management.edits) : []
  // Newer models think without being asked, so only an explicit switch-off or an old model breaks this.
  const mayThink = on || (thinking.type === undefined && traits.manualThinking === false)
  edits.forEach((edit, index) => {
    if (!shown(edit.type).startsWith('clear_thinking') || mayThink) return
    found.report(
      'clear-thinking-needs-thinking',
      `context_management.edits.${index}`,
      `\`${shown(edit.type)}\` strategy requires \`thinking\` to be enabled or adaptive`,
    )
  })
  if (!on) return
  if (thinking.type === 'enabled' && traits.manualThinking === false) {
    found.report(
      'thinking-mode',
      'thinking.type',
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".',
    )
  }
  if (thinking.type === 'adaptive' && traits.adaptiveThinking === false) {
    found.report('thinking-mode', 'thinking.type', 'adaptive thinking is not supported on this model')
  }
  if (thinking.type === 'enabled') checkBudget(body, found, thinking.budget_tokens)
  const choice = isRecord(body.tool_choice) ? body.tool_choice.type : undefined
  if (thinking.type === 'enabled' && (choice === 'any' || choice === 'tool')) {
    found.report('thinking-forced-tool', 'tool_choice', 'Thinking may not be enabled when tool_choice forces tool use.')
  }
  if (typeof body.temperature === 'number' && body.temperature !== 1) {
    found.report('thinking-temperature', 'temperature', '`temperature` may only be set to 1 when thinking is enabled.')
  }
}

function checkBudget(body: Fields, found: RuleContext['found'], budget: unknown): void {
  const path = 'thinking.enabled.budget_tokens'
  if (typeof budget !== 'number' || !Number.isInteger(budget) || budget < 1024) {
    found.report('thinking-budget', path, 'Input should be greater than or equal to 1024')
    return
  }
  // With interleaved thinking the budget spans a whole tool loop; the header says so, the body does not, so tools excuse it.
  const interleaved = recordsIn(body.tools).length > 0
  if (!interleaved && typeof body.max_tokens === 'number' && budget >= body.max_tokens) {
    found.report('thinking-budget', path, '`max_tokens` must be greater than `thinking.budget_tokens`.')
  }
}
