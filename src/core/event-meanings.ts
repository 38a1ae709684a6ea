import type { EventBody } from './events.ts'

/** What each event says, in one sentence: the documentation is written from here. An event without a sentence does not compile. */
export const EVENT_MEANINGS: Readonly<Record<EventBody['type'], string>> = {
  'request-prepared':
    'A request was measured and decided about. `load` is the upper bound of its tokens, `limit` is what fits.',
  'request-forwarded': 'The upstream answered a request, with this status and after this time.',
  'item-offloaded': 'Something was stored under a handle, and the request shows a shorter text in its place.',
  'epoch-declared':
    'A compaction happened: `covered` items were replaced, and the load went from `before` to `after` tokens.',
  'epoch-deferred': 'A compaction was considered and left undone, because it would cost more than it saves.',
  'epoch-reanchored': 'The client changed the history slightly; the compaction was found to apply to it still.',
  'epoch-orphaned':
    'The history that a compaction covers is gone (a rewind, an edit, a fork), so it no longer applies.',
  'epoch-undone': 'A compaction was taken back with `undo`.',
  'call-unanswered': 'The history holds a tool call without a result; a compaction worked around it.',
  'prefix-broken':
    'The client changed a part of the history that it had sent before, from item `atItem` (counted from 0) on. The request goes out as changed; from there on the prompt cache of the provider does not hit.',
  'usage-recorded': 'The provider reported usage for a call; `costUsd` is set where the price is known.',
  'usage-missing': 'A call ended without usage, so its tokens are known by estimate only.',
  'call-refused':
    'A model call has no answer: the provider refused it or never answered (`status` where it said one), or Plimsoll did not send it (`code`).',
  'calibration-drifted': 'A model counts differently from before; older samples of it were dropped.',
  'window-learned': 'An upstream showed what its context window is, and requests are kept within it.',
  'overflow-recovered': 'The upstream refused a request as too long; it was reduced, sent again and answered.',
  'verdict-given':
    'A request was not simply sent: another target was taken (`skip`), a last answer asked for (`final`), or a budget stopped it (`halt`).',
  'compaction-needed': 'The load passed the threshold at which compaction starts.',
  'output-lowered': 'The output cap of a request was lowered so that the prompt fits beside it.',
  'context-warning': 'The load passed the share of the limit at which the policy warns.',
  'budget-reached': 'A budget passed the share at which it warns, or its end.',
  'summary-rejected':
    'What a model wrote as a summary was not used, for this reason; the summary written by code stands.',
  degraded: 'A part does not work (the store, the summarizer, events of other proxies), and requests go on without it.',
  warning: 'Something that somebody should know about; `topic` says what it concerns.',
}
