import { IdentityStoresPort } from '../../core/identity/ports.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import type { ServiceFixture } from './service-fixture.ts'

/** Gives a person of the fixture a second factor, or takes it away, on the store. */
export const setSecondFactor = async (
  { service, idOf }: ServiceFixture,
  login: string,
  isEnrolled: boolean,
): Promise<void> => {
  const store = service.running.container.resolve(IdentityStoresPort).secondFactors
  const userId = idOf(login) as UserId
  if (!isEnrolled) return void (await store.remove(userId))
  await store.offer(userId, new Uint8Array([1]), 'ref', new Date())
  if (!(await store.enroll(userId, 'ref', 1, new Date()))) throw new Error(`${login} could not be enrolled`)
}
