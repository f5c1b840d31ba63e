import type { DeviceCode, Provider } from 'oidc-provider'
import type { AuthorizationProtocol } from '../../core/authorization-server/ports.ts'
import { textAt } from '../../core/kernel/json.ts'
import { asPerson, grantTo, resourcesIn } from './grants.ts'

type Devices = Pick<AuthorizationProtocol, 'acceptDevice' | 'pendingDevice' | 'refuseDevice'>

/** Codes are typed by people: case, spaces and hyphens do not matter. */
const normalized = (userCode: string): string => userCode.replace(/[^A-Za-z0-9]/g, '').toUpperCase()

/** Returns what answers programs on other devices, by the codes that people type. */
export const makeDevices = (current: () => Promise<Provider>): Devices => {
  const waiting = async (userCode: string): Promise<DeviceCode | undefined> => {
    const provider = await current()
    const code = await provider.DeviceCode.findByUserCode(normalized(userCode))
    if (code === undefined || code.isExpired || code.accountId !== undefined || code.error !== undefined)
      return undefined
    return code
  }
  return {
    async pendingDevice(userCode) {
      const code = await waiting(userCode)
      if (code === undefined) return undefined
      return {
        clientId: code.clientId ?? '',
        scopes: textAt(code.params, 'scope').split(' '),
        resources: resourcesIn(code.params),
        signedInAfter: undefined,
        demandsConsent: true,
        sourceIp: textAt(code.deviceInfo, 'ip'),
        userAgent: textAt(code.deviceInfo, 'ua'),
        startedAt: new Date((code.iat ?? 0) * 1000),
      }
    },
    acceptDevice: (userCode, accepted) =>
      asPerson(accepted, async () => {
        const code = await waiting(userCode)
        if (code === undefined) return false
        const grantId = await grantTo(await current(), code.clientId ?? '', accepted, undefined)
        Object.assign(code, {
          accountId: String(accepted.userId),
          grantId,
          authTime: Math.floor(accepted.signedInAt.getTime() / 1000),
          scope: accepted.scopes.join(' '),
        })
        await code.save()
        return true
      }),
    async refuseDevice(userCode) {
      const code = await waiting(userCode)
      if (code === undefined) return false
      Object.assign(code, { error: 'access_denied', errorDescription: 'the person refused' })
      await code.save()
      return true
    },
  }
}
