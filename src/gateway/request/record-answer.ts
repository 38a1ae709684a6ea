import type { ModelResponse } from '../../core/codec.ts'
import { nextRound } from '../../util/yield-now.ts'
import { learn } from './deliver.ts'
import type { Attempt } from './fit.ts'
import type { ManagedRequest } from './managed-request.ts'

/** `now`: the request that goes on needs it. `behind`: the client has its answer first, as nobody waits for this. */
export type When = 'now' | 'behind'

/** @param read what the answer says, worked out when it is recorded. */
export async function recorded<B>(
  managed: ManagedRequest<B>,
  attempt: Attempt,
  read: () => ModelResponse | undefined | Promise<ModelResponse | undefined>,
  when: When,
): Promise<void> {
  // Where others serve the same sessions, the answer ends when it is recorded.
  if (when === 'behind' && !managed.isShared) await nextRound()
  const turn = attempt.prepared.id
  // Best effort: an answer that cannot be recorded is the client's all the same.
  try {
    const reading = read()
    const response = reading instanceof Promise ? await reading : reading
    // Together, so that the store can write both with one commit.
    const [{ truncatedTo }] = await Promise.all([
      managed.session.record({ turn, durable: 'soon', answer: response }),
      managed.onResponse(response),
    ])
    if (truncatedTo === undefined) await noteAccepted(managed, attempt, response)
    else if (managed.mode === 'apply') await learn(managed, attempt, { window: truncatedTo }, 'silent-truncation')
  } catch (error) {
    managed.emit({ type: 'warning', topic: 'record', message: (error as Error).message })
    await managed.onResponse(undefined)
  }
}

/** What an endpoint took once is never above its window. */
async function noteAccepted<B>(
  { learned, tenant }: ManagedRequest<B>,
  { target: { endpoint = '', model }, prepared }: Attempt,
  response: ModelResponse | undefined,
): Promise<void> {
  if (response === undefined || response.stop === 'error') return
  const { bytes } = prepared.load
  const tokens = response.usage?.input
  await learned.accepted({ tenant, endpoint, model }, tokens === undefined ? { bytes } : { bytes, tokens })
}
