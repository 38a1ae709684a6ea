import { type Fields, isRecord, listOf } from '../../core/values.ts'
import type { Findings } from '../kit/rule-kit.ts'
import { shown } from '../kit/rule-kit.ts'
import type { GeminiRule } from './rule-book.ts'
import { callOf, partsOf, responseOf, signatureOf } from './parts.ts'

export interface GeminiRuleContext {
  readonly body: Fields
  readonly found: Findings<GeminiRule>
  readonly profiles: ReadonlySet<string>
  /** The path names the model on this wire, not the body. */
  readonly model: string
}

/** Contents of one role in a row: the API reads them as one turn. */
interface Turn {
  /** Index of the first content. */
  readonly index: number
  readonly role: 'user' | 'model'
  readonly parts: Fields[]
  readonly calls: Fields[]
  readonly responses: Fields[]
}

/** The order of turns: who may speak after whom, and which responses answer which calls. */
export function checkTurns(context: GeminiRuleContext): void {
  const { body, found } = context
  const turns = turnsOf(listOf(body.contents))
  const [first] = turns
  if (first === undefined) return
  if (first.role !== 'user' || (first.responses.length > 0 && isOnlyResponses(first))) {
    found.report('starts-with-user', 'contents[0]', 'Please ensure that multiturn requests start with a user turn.')
  }
  turns.forEach((turn, index) => checkNeighbours(context, turn, turns[index - 1], turns[index + 1]))
  const last = turns.at(-1)
  if (last?.role === 'model') {
    const message = 'Please ensure that multiturn requests end with a user turn or a function response.'
    found.report('ends-with-user', `contents[${last.index}]`, message)
  }
  if (signsCalls(context.model)) checkSignatures(context, turns)
}

function turnsOf(contents: readonly unknown[]): Turn[] {
  const turns: Turn[] = []
  contents.forEach((content, index) => {
    if (!isRecord(content)) return
    const role = content.role === 'model' ? 'model' : 'user'
    const previous = turns.at(-1)
    const turn: Turn = previous?.role === role ? previous : { index, role, parts: [], calls: [], responses: [] }
    if (turn !== previous) turns.push(turn)
    for (const part of partsOf(content)) {
      turn.parts.push(part)
      if (callOf(part) !== undefined) turn.calls.push(part)
      if (responseOf(part) !== undefined) turn.responses.push(part)
    }
  })
  return turns
}

const isOnlyResponses = (turn: Turn): boolean => turn.responses.length === turn.parts.length

function checkNeighbours(
  { found }: GeminiRuleContext,
  turn: Turn,
  before: Turn | undefined,
  after: Turn | undefined,
): void {
  const path = `contents[${turn.index}]`
  if (turn.calls.length > 0 && before === undefined) {
    const message =
      'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
    found.report('call-turn-order', path, message)
  }
  if (turn.responses.length > 0 && (before === undefined || before.calls.length === 0)) {
    const message = 'Please ensure that function response turn comes immediately after a function call turn.'
    found.report('response-turn-order', path, message)
  }
  if (turn.calls.length > 0) checkAnswers(found, turn, after)
}

function checkAnswers(found: GeminiRuleContext['found'], turn: Turn, after: Turn | undefined): void {
  const responses = after?.responses ?? []
  if (responses.length !== turn.calls.length) {
    const message =
      'Please ensure that the number of function response parts is equal to the number of function call parts of the ' +
      'function call turn.'
    found.report('response-count', `contents[${turn.index}]`, message)
    return
  }
  const ids = new Set(turn.calls.map((part) => callOf(part)?.id).filter((id) => id !== undefined))
  const isStray = (id: unknown): boolean => id !== undefined && ids.size > 0 && !ids.has(id)
  const stray = responses.map((part) => responseOf(part)?.id).find(isStray)
  if (stray === undefined) return
  const message = `Function response id '${shown(stray)}' does not match a function call.`
  found.report('response-ids', `contents[${after?.index ?? turn.index}]`, message)
}

const signsCalls = (model: string): boolean => /gemini-(?:[3-9]|\d{2})/.test(model)

/** Only the current turn is looked at: everything since the user last said something. Parallel siblings are unsigned. */
function checkSignatures({ found }: GeminiRuleContext, turns: readonly Turn[]): void {
  const start = turns.findLastIndex((turn) => turn.role === 'user' && !isOnlyResponses(turn))
  for (const turn of turns.slice(Math.max(0, start))) {
    const [call] = turn.calls
    if (turn.role !== 'model' || call === undefined || signatureOf(call) !== '') continue
    found.report(
      'signature-present',
      `contents[${turn.index}]`,
      'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and ' +
        'missing thought_signature may lead to degraded model performance. Additional data, function call ' +
        `\`default_api:${shown(callOf(call)?.name)}\` , position ${turn.index + 1}.`,
    )
  }
}
