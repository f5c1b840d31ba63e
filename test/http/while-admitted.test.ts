import test from 'ava'
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { refusal, type Refusal } from '../../composition/http/answer/failure-response.ts'
import { whileAdmitted } from '../../composition/http/streams/admission.ts'

const answering = (...answers: readonly (Either<Refusal, unknown> | Error)[]) => {
  const state = { asked: 0, cut: 0 }
  const stopped = new Promise<typeof state>((resolve) => {
    const stop = whileAdmitted(
      () => {
        const answer = answers[state.asked] ?? left(refusal(403, 'AccessDenied', 'no'))
        state.asked += 1
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
      },
      () => {
        state.cut += 1
        stop()
        resolve(state)
      },
      1,
    )
  })
  // The timers of streams keep no process alive, so this test must.
  const alive = setInterval(() => undefined, 1000)
  return stopped.finally(() => clearInterval(alive))
}

test('a stream is cut when its caller loses the right, and is checked no longer', async (t) => {
  t.deepEqual(await answering(right(1), right(1), left(refusal(401, 'NotAuthenticated', 'gone'))), { asked: 3, cut: 1 })
})

test('a rate limit and a store that is away cut nothing', async (t) => {
  t.deepEqual(await answering(left(refusal(429, 'RateLimited', 'slow')), left(refusal(500, 'Unavailable', 'away')), new Error('away'), left(refusal(404, 'ObjectHidden', 'gone'))), { asked: 4, cut: 1 })
})
