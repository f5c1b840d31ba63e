import * as t from 'io-ts'
import { answer, freeText, optional, request, SafeInteger } from '../kit/codecs.ts'

const HelmDriver = request({ pkg3: optional(request({ driverName: optional(freeText(64)) }, 'HelmDriverOfVersion')) }, 'HelmDriver')
/** `data` is where the driver is shown. */
export const TillerOptions = request({ driver: optional(HelmDriver), data: optional(request({ driver: optional(HelmDriver) }, 'TillerData')) }, 'TillerOptions')

export const ConsoleConfig = answer(
  {
    id: SafeInteger,
    userID: SafeInteger,
    clusterID: t.string,
    type: SafeInteger,
    data: answer({ driver: answer({ pkg3: answer({ driverName: t.string }, 'DriverOfVersion') }, 'DriverData') }, 'ConsoleConfigData'),
    createdUnix: SafeInteger,
    updatedUnix: SafeInteger,
  },
  'ConsoleConfig',
)
export type ConsoleConfig = t.TypeOf<typeof ConsoleConfig>
