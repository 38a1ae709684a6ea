import { describe, it } from 'vitest'
import type { Clock } from '../../src/ports/clock.ts'
import type { MaintainedStore } from '../../src/ports/store-maintenance.ts'
import { sessionStoreCases, type StoreSubject } from '../../src/testing/session-store-suite.ts'

/** Runs the conformance suite; `makeSubject` gives each case an empty store. */
export function testSessionStore(
  name: string,
  makeSubject: () => StoreSubject | Promise<StoreSubject>,
  options: { durable?: boolean } = {},
): void {
  describe(`session store: ${name}`, () => {
    for (const storeCase of sessionStoreCases(options)) {
      it(storeCase.name, async () => {
        const subject = await makeSubject()
        try {
          await storeCase.run(subject)
        } finally {
          await subject.dispose()
        }
      })
    }
  })
}

/** A subject over `make`, which is called once per handle. */
export function subjectOf(
  make: (options: { clock?: Clock }) => MaintainedStore,
  cleanUp: () => Promise<void> = async () => {},
): StoreSubject {
  const handles: MaintainedStore[] = []
  return {
    open(options = {}) {
      const store = make(options)
      handles.push(store)
      return store
    },
    async dispose() {
      await Promise.all(handles.map((store) => store.close()))
      await cleanUp()
    },
  }
}
