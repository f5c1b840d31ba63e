import { createHash, timingSafeEqual } from 'node:crypto'
import type { Secret } from '../../core/kernel/secret.ts'
import { toWireJson } from '../../core/kernel/json.ts'
import type { NotificationDigest, NotificationSenders } from '../../core/marketplace/ports.ts'
import type { SourceRanges } from './source-ranges.ts'

export interface SendersOptions {
  /** Undefined on deployments of other clouds. */
  readonly ranges: Pick<SourceRanges, 'has'> | undefined
  /** In development, installers send from anywhere. */
  readonly isDevelopment: boolean
  /** The secret, and the one before it while it is replaced. */
  readonly secrets: readonly Secret[]
  /** The installer that may test notifications of cloud C; undefined if there is none. */
  readonly testInstaller: string | undefined
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** NotificationSenders by address ranges and secrets. */
export const makeNotificationSenders = (options: SendersOptions): NotificationSenders => {
  const { ranges, isDevelopment, testInstaller } = options
  const secrets = options.secrets.map((each) => digest(each.reveal()))
  return {
    isInstallerAddress: (address) => isDevelopment || ranges?.has(address) === true,
    isSecret(given) {
      const [text = ''] = given
      const presented = digest(text)
      // Each is compared, so that the time does not tell which one is equal.
      const equal = secrets.map((each) => timingSafeEqual(each, presented))
      return given.length === 1 && text !== '' && equal.includes(true)
    },
    isTestInstaller: (installerRef) =>
      testInstaller !== undefined && installerRef.trim().toLowerCase() === testInstaller.toLowerCase(),
  }
}

/** NotificationDigest by SHA-256. */
export const notificationDigest: NotificationDigest = (...texts) =>
  createHash('sha256').update(toWireJson(texts)).digest()
