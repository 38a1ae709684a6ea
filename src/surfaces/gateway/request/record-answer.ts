import type { ModelResponse } from '../../../core/codec.ts'
import type { Usage } from '../../../core/usage.ts'
import { teach } from './deliver.ts'
import type { Attempt } from './fit.ts'
import type { ManagedRequest } from './managed.ts'

/** Best effort: an answer that cannot be recorded is the client's all the same. */
export async function recorded<B>(
  managed: ManagedRequest<B>,
  attempt: Attempt,
  response: ModelResponse | undefined,
): Promise<void> {
  const { prepared } = attempt
  try {
    const usage = response?.usage
    const window = usage === undefined ? undefined : windowBehind(managed, attempt, usage)
    if (window !== undefined) await learnFrom(managed, attempt, usage!, window)
    // A count of a prompt that was not ours is billed all the same, and would teach the meter nonsense.
    await managed.session.record({
      turn: prepared.id,
      ...(response !== undefined && { answer: response }),
      ...(window !== undefined && { cut: true }),
      durable: 'soon',
    })
    await managed.onResponse(response)
  } catch (error) {
    managed.emit({ type: 'warning', topic: 'record', message: (error as Error).message })
    await managed.onResponse(undefined)
  }
}

/** Vendors of models that the catalogue knows refuse what is too long; whoever else may cut it without a word. */
function windowBehind<B>(managed: ManagedRequest<B>, { prepared, target }: Attempt, usage: Usage): number | undefined {
  if (prepared.limit.source === 'catalogue') return undefined
  const { tenant, sessionId, agent } = managed
  return managed.cutPrompts.windowIn({
    key: JSON.stringify([tenant, sessionId, agent, target.endpoint, target.model]),
    epoch: prepared.epoch,
    load: prepared.load.count,
    usage,
  })
}

async function learnFrom<B>(
  managed: ManagedRequest<B>,
  { target, prepared }: Attempt,
  usage: Usage,
  window: number,
): Promise<void> {
  const sent = Math.round(prepared.load.count.tokens)
  managed.emit({
    type: 'warning',
    topic: 'silent-truncation',
    message: `${target.endpoint ?? target.model} was sent about ${sent} tokens and read ${usage.input}: the beginning, instructions included, is gone. Requests are kept within ${window} from now on.`,
  })
  if (managed.mode === 'apply') await teach(managed, target, { window })
}
