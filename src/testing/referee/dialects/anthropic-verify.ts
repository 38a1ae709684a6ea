import type { Violation } from '../../../core/codec.ts'
import { nativeBetas } from '../../../formats/anthropic-messages/native.ts'
import { traitsOf } from '../../../formats/anthropic-messages/model-traits.ts'
import { type Fields, isRecord, listOf, recordsIn, textOf } from '../../../core/values.ts'
import type { Issuer } from '../issuer.ts'
import { chainOf } from '../prompt-cache.ts'
import type { Verification, VerifyContext } from '../types.ts'
import { describeBlock } from './anthropic-segments.ts'

/** What was issued with a response: its thinking blocks, found again by the ids of its calls. */
export interface IssuedThinking {
  readonly blocks: readonly string[]
}

export const issuedKey = (callId: string): string => `thinking:${callId}`

/** Thinking blocks as the issuer sees them: sealed by it, unchanged, in place, and behind the prefix they were made for. */
export function verifyAnthropic(context: VerifyContext): Verification {
  const violations: Violation[] = []
  const unbound: string[] = []
  const { body, facts, issuer } = context
  const binds = traitsOf(facts.model).bindsThinking === true
  const chain = binds ? chainOf(facts.segments) : []
  const index = new Map(facts.segments.map((segment, at) => [segment.path, at]))
  listOf(body.messages).forEach((message, at) => {
    listOf(isRecord(message) ? message.content : []).forEach((block, position) => {
      if (!isRecord(block)) return
      const path = `messages.${at}.content.${position}`
      if (block.type === 'compaction' && !isOwnCompaction(block, issuer)) violations.push(invalidCompaction(path))
      const seal = block.type === 'thinking' ? textOf(block.signature) : textOf(block.data)
      if (block.type !== 'thinking' && block.type !== 'redacted_thinking') return
      const opened = issuer.open(seal)
      if (opened === undefined || !opened.matches(textOf(block.thinking))) {
        violations.push(invalidSignature(path, block.type))
        return
      }
      const place = index.get(path)
      // What the provider's own compaction stands for is not read any more.
      if (place === undefined) return
      const before = chain[place - 1] ?? ''
      if (binds && opened.prefix !== undefined && opened.prefix !== before) unbound.push(path)
    })
  })
  violations.push(...modified(context), ...withoutBeta(context))
  if (unbound.length > 0 && !dropsUnbound(body, context.headers)) violations.push(boundElsewhere(unbound[0] ?? ''))
  return { violations, dropped: unbound }
}

/** Without its beta header the vendor does not know the option. */
function withoutBeta({ body, headers }: VerifyContext): Violation[] {
  const sent = headers['anthropic-beta'] ?? ''
  return nativeBetas(body)
    .filter((beta) => !sent.includes(beta))
    .map((beta) => ({
      rule: 'context-management-beta',
      path: 'context_management',
      message: 'context_management: Extra inputs are not permitted',
      fix: `Send the header anthropic-beta: ${beta}.`,
    }))
}

/** A compaction block comes back as it was given; one without a seal is taken for plain text. */
function isOwnCompaction(block: Fields, issuer: Issuer): boolean {
  const seal = textOf(block.encrypted_content)
  return seal === '' || issuer.open(seal)?.matches(textOf(block.content)) === true
}

const invalidCompaction = (path: string): Violation => ({
  rule: 'compaction-unsealed',
  path,
  message: "The `compaction` block's `content` differs from the text its `encrypted_content` recorded.",
  fix: 'Send the compaction block byte for byte as it was given.',
})

const invalidSignature = (path: string, type: string): Violation => ({
  rule: 'thinking-signature',
  path,
  message: `Invalid \`${type === 'thinking' ? 'signature' : 'data'}\` in \`${type}\` block`,
  fix: 'Send the block byte for byte as it was issued, to its issuer, or drop it.',
})

/** Known from the vendor's documents only; not verified against the vendor. */
const boundElsewhere = (path: string): Violation => ({
  rule: 'thinking-bound',
  path,
  message:
    'Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block or set ' +
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the value ' +
    '`thinking-binding-controls-2026-08-01` in the `anthropic-beta` header.',
  fix: 'Remove this thinking block and all later ones, or ask for drop_block.',
})

/** The latest assistant message carries exactly the thinking it was issued with, as long as thinking is on. */
function modified({ body, memory }: VerifyContext): Violation[] {
  const thinking = isRecord(body.thinking) ? body.thinking.type : undefined
  if (thinking === undefined || thinking === 'disabled') return []
  const messages = recordsIn(body.messages)
  const at = messages.findLastIndex((message) => message.role === 'assistant')
  const blocks = recordsIn(messages[at]?.content)
  const callId = blocks.find((block) => block.type === 'tool_use')?.id
  const issued = memory.get(issuedKey(textOf(callId))) as IssuedThinking | undefined
  if (issued === undefined) return []
  const sent = blocks.filter(isThinkingBlock).map((block) => describeBlock(block).key)
  if (sent.length === issued.blocks.length && sent.every((key, place) => key === issued.blocks[place])) return []
  const rule = 'thinking-unmodified'
  return [
    {
      rule,
      path: `messages.${at}`,
      message:
        '`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. ' +
        'These blocks must remain as they were in the original response.',
      fix: 'Leave the latest assistant message as it came.',
    },
  ]
}

export const isThinkingBlock = (block: Fields): boolean =>
  block.type === 'thinking' || block.type === 'redacted_thinking'

/** The request asks the provider to drop unbound thinking instead of refusing it, and may. */
function dropsUnbound(body: Fields, headers: Readonly<Record<string, string>>): boolean {
  const thinking = isRecord(body.thinking) ? body.thinking : {}
  const binding = isRecord(thinking.block_binding) ? thinking.block_binding : {}
  const beta = headers['anthropic-beta'] ?? ''
  return binding.prefix_mismatch_behavior === 'drop_block' && beta.includes('thinking-binding-controls-2026-08-01')
}
