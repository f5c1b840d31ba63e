const inspect = Symbol.for('nodejs.util.inspect.custom')

/**
 * The only carrier of a secret inside the core: printing, inspecting or serialising it shows `[secret]`.
 * `reveal` is called where the secret leaves for the one place that needs it.
 */
export class Secret<A = string> {
  readonly #value: A
  constructor(value: A) {
    this.#value = value
  }
  reveal(): A {
    return this.#value
  }
  toString(): string {
    return '[secret]'
  }
  toJSON(): string {
    return '[secret]'
  }
  [inspect](): string {
    return '[secret]'
  }
}

export const secret = <A>(value: A): Secret<A> => new Secret(value)
