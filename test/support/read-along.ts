import { CLAUDE_CODE } from '../../src/core/identity.ts'
import type { Target } from '../../src/core/target.ts'
import { shortSha256 } from '../../src/drivers/crypto/sha256.ts'
import { noMemo } from '../../src/engine/memo/memo.ts'
import type { ReadyRequest } from '../../src/engine/prepare/prepare.ts'
import type { GatewaySession, Session } from '../../src/engine/session/session.ts'
import { codecOf } from '../../src/formats/registry.ts'

const { chain } = noMemo({ hash: (text) => shortSha256(text, 40), profile: CLAUDE_CODE })

/** Prepares a request as the gateway does: its answer will be read along, and is written down together with it. */
export function prepareReadAlong(
  session: Session,
  { format, body, targets }: { readonly format: string; readonly body: string; readonly targets: readonly Target[] },
): Promise<ReadyRequest> {
  const codec = codecOf(format)
  const conversation = codec.decode(body)
  const links = chain(conversation.items)
  return (session as GatewaySession).prepareRead({ codec, text: body, conversation, links, targets, isReadAlong: true })
}
