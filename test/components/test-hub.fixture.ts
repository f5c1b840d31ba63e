import { kubernetes, spokeKubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { startTestHub, type TestHub } from '../support/hub/test-hub.ts'
import { until } from '../support/until.ts'

const test = needing('kubernetes', 'spoke-kubernetes')

export let hub: TestHub

test.before(async () => {
  hub = await startTestHub((await kubernetes())!, {
    spokes: (await spokeKubernetes())!,
    servesAccount: ({ metadata }) => metadata.name.startsWith(hub.prefix),
  })
})
test.after.always(async () => {
  await hub?.stop()
})
export const gone = (what: string, find: () => Promise<unknown>): Promise<true> =>
  until(`${what} to be gone`, async () => ((await find()) === undefined ? true : undefined))
