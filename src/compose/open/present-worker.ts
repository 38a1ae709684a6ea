import { parentPort, receiveMessageOnPort, type MessagePort } from 'node:worker_threads'
import { READY } from '../../drivers/sandbox/guarded-worker.ts'
import { presentText } from '../../engine/tool-results/present.ts'
import type { Presented, PresentOptions } from '../../engine/deps.ts'

/** A request to make a view. The main thread counts tokens, because only it has the calibration of the endpoint. */
export interface PresentTask extends Pick<PresentOptions, 'budgetTokens' | 'handle' | 'tool' | 'readers'> {
  readonly output: string
  readonly port: MessagePort
  /** Set to 1 when a count has arrived. */
  readonly counted: SharedArrayBuffer
}

export type PresentAnswer = { readonly presented: Presented } | { readonly failed: string }

parentPort!.on('message', ({ output, port, counted, ...options }: PresentTask) => {
  const signal = new Int32Array(counted)
  const countTokens = (text: string): number => {
    port.postMessage(text, [])
    Atomics.wait(signal, 0, 0)
    Atomics.store(signal, 0, 0)
    return (receiveMessageOnPort(port) as { readonly message: number }).message
  }
  try {
    parentPort!.postMessage({ presented: presentText(output, { ...options, countTokens }) } satisfies PresentAnswer, [])
  } catch (error) {
    parentPort!.postMessage({ failed: (error as Error).message } satisfies PresentAnswer, [])
  } finally {
    port.close()
  }
})
parentPort!.postMessage(READY, [])
