/** What a person asks of a reduction. */
export interface CompactRequest {
  /** What the summary should hold; it goes to the model that writes it, and stays in view. */
  readonly instructions?: string
  /** It stands in the log, and so does what comes of it. */
  readonly isLogged?: boolean
}

/** A reduction that was asked for: the next request declares an epoch, needed or not. */
export class CompactWish {
  #request: CompactRequest | undefined
  #refusal: string | undefined

  /** Undefined when nobody asks. */
  get request(): CompactRequest | undefined {
    return this.#request
  }

  /** Why the last one came to nothing. */
  get refusal(): string | undefined {
    return this.#refusal
  }

  ask(request: CompactRequest): void {
    this.#request = request
    this.#refusal = undefined
  }

  /** An epoch was tried; `refusal` says why there is none. */
  answer(refusal?: string): void {
    if (this.#request !== undefined) this.#refusal = refusal
    this.#request = undefined
  }
}
