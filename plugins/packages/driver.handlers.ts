import { isLeft, right } from 'fp-ts/lib/Either.js'
import { makeDriverConfigurations } from '../../core/packages/driver-configuration.ts'
import type { DriverConfiguration } from '../../core/packages/ports.ts'
import { handle, handleChange, type BoundRoute } from '../kit/route.ts'
import type { ConsoleConfig } from './driver-codecs.ts'
import { getDefaultDriver, getDriver, setDriver } from './driver.routes.ts'

/** The setting's type on the wire: the driver of the package manager. */
const driverSetting = 1

const toConsoleConfig = (configuration: DriverConfiguration): ConsoleConfig => ({
  id: configuration.id,
  userID: configuration.userId,
  clusterID: configuration.clusterUid,
  type: driverSetting,
  data: { driver: { pkg3: { driverName: configuration.driver } } },
  createdUnix: Math.floor(configuration.createdAt.getTime() / 1000),
  updatedUnix: Math.floor(configuration.updatedAt.getTime() / 1000),
})

/** Which driver keeps the releases of a cluster. */
export const driverHandlers = (given: Parameters<typeof makeDriverConfigurations>[0]): readonly BoundRoute[] => {
  const configurations = makeDriverConfigurations(given)
  return [
    handle(getDriver, async ({ grant }) => {
      const found = await configurations.show(grant)
      return isLeft(found) ? found : right(toConsoleConfig(found.right))
    }),
    handleChange(setDriver, toConsoleConfig, ({ call, grant, body }) =>
      configurations.set(call, grant, (body.driver ?? body.data?.driver)?.pkg3?.driverName ?? ''),
    ),
    handle(getDefaultDriver, async ({ grant }) => {
      const found = await configurations.usual(grant)
      return isLeft(found) ? found : right(toConsoleConfig(found.right))
    }),
  ]
}
