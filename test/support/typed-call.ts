import type { Access } from '../../plugins/kit/access.ts'
import type { Client, ClientInput, ClientReply, Received } from '../../plugins/kit/client.ts'
import type { Route } from '../../plugins/kit/route.ts'

type InputArgument<I> = Record<never, never> extends I ? readonly [input?: I] : readonly [input: I]

/** The answer that a route declares as its success. */
export type Success<R> = Extract<ClientReply<R>, { readonly ok: true }>

/** Calls a declared route with the credential of a caller. Rejects when the answer is a refusal. */
export type TypedCall = <P, Q, B, R, F extends string, X extends Access>(
  caller: string,
  route: Route<P, Q, B, R, F, X>,
  ...input: InputArgument<ClientInput<NoInfer<P>, NoInfer<Q>, NoInfer<B>>>
) => Promise<Success<Received<R>>>

/** Returns a `TypedCall` over a client. `tokenOf` returns the access token of a caller, or undefined for an unknown one. */
export const makeTypedCall =
  (client: Client, tokenOf: (caller: string) => string | undefined): TypedCall =>
  async (caller, route, ...input) => {
    const token = tokenOf(caller)
    if (token === undefined) throw new Error(`the caller ${caller} has no token`)
    const withToken = [{ ...input[0], headers: { authorization: `Bearer ${token}`, ...input[0]?.headers } }] as unknown as typeof input
    const reply = await client.call(route, ...withToken)
    if (!reply.ok) throw new Error(`${route.id} answered ${reply.status}: ${reply.text}`)
    return reply
  }
