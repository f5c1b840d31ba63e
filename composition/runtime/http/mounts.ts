import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Mount } from '../../../plugins/kit/mount.ts'
import { answerError, writeRefusal } from './answer/write-answer.ts'
import type { BinderDeps } from './binder-deps.ts'
import { cookieValueOf, hostCookieName } from './request/credentials.ts'
import { spendRate } from './request/rate-limit.ts'
import type { RequestContext } from './request/request-context.ts'
import { accountOf, callOf, clientSignal, makeWithinRequest, noteRoute } from './request/request-context.ts'

type MountDeps = Pick<
  BinderDeps,
  'docsUrl' | 'log' | 'rateLimit' | 'readings' | 'scope' | 'secureCookies' | 'sessions' | 'tracing'
>

/** Answers a request of a mount. */
export type AnswerMounted = (req: IncomingMessage, res: ServerResponse, context: RequestContext) => Promise<void>

const bindMount = (deps: MountDeps, mount: Mount, root: string): AnswerMounted => {
  const within = makeWithinRequest(deps)
  const answer: AnswerMounted = async (req, res, context) => {
    const signal = clientSignal(res)
    context.clientSignal = signal
    const rate = spendRate(deps.rateLimit, context)
    if (rate.refused !== undefined) return writeRefusal(req, res, context, rate.refused, 'platform', deps.docsUrl)
    res.setHeader('X-Request-Id', context.requestId)
    res.setHeader('X-Content-Type-Options', 'nosniff')
    res.setHeader('Referrer-Policy', 'no-referrer')
    res.once('prefinish', () => void (context.status = res.statusCode))
    const cookie = hostCookieName(deps.sessions.sessionCookie, deps.secureCookies || context.isEncrypted)
    await mount.handle({
      request: req,
      response: res,
      path: context.path,
      sessionKey: cookieValueOf(req, cookie),
      call: callOf(context, signal),
    })
  }
  return (req, res, context) => {
    noteRoute(context, { id: mount.id, path: root })
    return within(req, context, () =>
      deps.readings.request(
        () => accountOf(context),
        () =>
          answer(req, res, context).catch((error: unknown) => answerError(deps, req, res, context, error, 'platform')),
        () => context.clientSignal,
      ),
    )
  }
}

/** Returns the function that finds what answers a path outside of the API; undefined for the paths of no mount. */
export const makeFindMounted = (
  deps: MountDeps,
  mounts: readonly Mount[],
): ((path: string) => AnswerMounted | undefined) => {
  const bound = mounts.flatMap((mount) => mount.roots.map((root) => ({ root, answer: bindMount(deps, mount, root) })))
  return (path) => bound.find(({ root }) => path === root || path.startsWith(`${root}/`))?.answer
}
