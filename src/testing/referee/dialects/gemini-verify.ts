import { callOf, partsOf, signatureOf } from '../../../formats/gemini/parts.ts'
import { SKIP_SIGNATURES } from '../../../formats/gemini/rule-book.ts'
import { type Fields, recordsIn } from '../../../core/values.ts'
import type { Verification, VerifyContext } from '../types.ts'

/** What a signature seals: the call it stands on, unchanged. A signature on text seals nothing but its issuer. */
export function sealedText(part: Fields): string {
  const call = callOf(part)
  return call === undefined ? '' : JSON.stringify([call.name ?? null, call.args ?? {}])
}

/** Signatures come from this issuer and stand on the part they were made for. */
export function verifyGemini({ body, issuer }: VerifyContext): Verification {
  const violations = recordsIn(body.contents).flatMap((content, at) =>
    partsOf(content).flatMap((part, index) => {
      const signature = signatureOf(part)
      if (signature === '' || SKIP_SIGNATURES.has(signature)) return []
      const opened = issuer.open(signature)
      if (opened?.matches(sealedText(part)) === true) return []
      return [
        {
          rule: 'signature-valid',
          path: `contents[${at}].parts[${index}]`,
          message: 'Corrupted thought signature.',
          fix: 'Send the signature byte for byte on the part it came with, to its issuer, or leave it out.',
        },
      ]
    }),
  )
  return { violations }
}
