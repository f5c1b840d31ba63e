import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { ApiCall } from './api-path.ts'
import { StatusError } from './status-answer.ts'

/** Which calls are meant: those that agree in all that is given. */
export interface CallMatch {
  readonly user?: string
  /** One or several. */
  readonly verb?: string | readonly string[]
  readonly resource?: string | readonly string[]
  readonly namespace?: string
  readonly name?: string | RegExp
  readonly method?: string
  /** The begin of the path. */
  readonly path?: string
  /** Asked at each call. */
  readonly when?: (call: ApiCall) => boolean
}

/** Calls that are kept waiting. */
export interface Hold {
  /** Resolves when the first one waits. */
  readonly arrived: Promise<ApiCall>
  readonly waiting: readonly ApiCall[]
  /** Lets those that wait go on, and later ones through. */
  release(): void
}

export type Answer = (req: IncomingMessage, res: ServerResponse, call: ApiCall) => void

type Rule = (call: ApiCall) => Promise<Answer | undefined> | undefined

const has = (wanted: string | readonly string[] | undefined, value: string): boolean =>
  wanted === undefined || (typeof wanted === 'string' ? wanted === value : wanted.includes(value))

const matches = (match: CallMatch, call: ApiCall): boolean =>
  has(match.user, call.user) &&
  has(match.verb, call.verb) &&
  has(match.resource, call.resource) &&
  has(match.method, call.method) &&
  has(match.namespace, call.namespace ?? '') &&
  (match.when === undefined || match.when(call)) &&
  (match.path === undefined || call.url.startsWith(match.path)) &&
  (match.name === undefined ||
    (typeof match.name === 'string' ? match.name === call.name : match.name.test(call.name ?? '')))

const forbiddenMessage = ({ user, verb, resource, group, namespace, name }: ApiCall): string =>
  `${resource}${group === '' ? '' : `.${group}`}${name === undefined ? '' : ` "${name}"`} is forbidden: User "${user}" cannot ${verb} resource "${resource}" in API group "${group}" ${namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`}`

/** What a test wants to happen to calls before they are answered. The newest rule is asked first. */
export class CallRules {
  readonly #rules: Rule[] = []
  readonly #forbidden = new Set<CallMatch>()

  /** Throws a StatusError for what is forbidden. Answers who is to answer, if not the API itself. */
  async before(call: ApiCall): Promise<Answer | undefined> {
    if (this.isForbidden(call)) throw new StatusError(403, 'Forbidden', forbiddenMessage(call))
    for (const rule of [...this.#rules]) {
      const answer = await rule(call)
      if (answer !== undefined) return answer
    }
    return undefined
  }

  forbid(match: CallMatch): () => void {
    this.#forbidden.add(match)
    return () => void this.#forbidden.delete(match)
  }

  fail(match: CallMatch, code: number, reason: string, message: string): () => void {
    return this.#add((call) =>
      matches(match, call) ? Promise.reject(new StatusError(code, reason, message)) : undefined,
    )
  }

  delay(match: CallMatch, milliseconds: number): () => void {
    return this.#add((call) => (matches(match, call) ? delay(milliseconds).then(() => undefined) : undefined))
  }

  answer(match: CallMatch, answer: Answer): () => void {
    return this.#add((call) => (matches(match, call) ? Promise.resolve(answer) : undefined))
  }

  hold(match: CallMatch): Hold {
    const waiting: ApiCall[] = []
    const arrived = Promise.withResolvers<ApiCall>()
    const released = Promise.withResolvers<undefined>()
    const remove = this.#add((call) => {
      if (!matches(match, call)) return undefined
      waiting.push(call)
      arrived.resolve(call)
      return released.promise
    })
    return {
      arrived: arrived.promise,
      waiting,
      release: () => {
        remove()
        released.resolve(undefined)
      },
    }
  }

  isForbidden(call: ApiCall): boolean {
    return [...this.#forbidden].some((match) => matches(match, call))
  }

  #add(rule: Rule): () => void {
    this.#rules.unshift(rule)
    return () => {
      const at = this.#rules.indexOf(rule)
      if (at >= 0) this.#rules.splice(at, 1)
    }
  }
}
