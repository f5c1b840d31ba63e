import { right } from 'fp-ts/lib/Either.js'
import { makeChangeBranding, plainBranding } from '../../core/platform/change-branding.ts'
import type { Branding } from '../../core/platform/ports.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import { changeBranding, getBranding } from './branding.routes.ts'
import type { PlatformGiven } from './needs.ts'

/** The given fields alone: an absent one must not overwrite. */
const chosenFields = (body: { readonly [K in keyof Branding]: Branding[K] | undefined }): Partial<Branding> =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))

export const brandingRoutes = ({ branding, unitOfWork, facts }: PlatformGiven): readonly BoundRoute[] => {
  const change = makeChangeBranding({ unitOfWork })
  return [
    handle(getBranding, async () => {
      const { favicon, ...look } = (await branding.read()) ?? plainBranding
      return right({
        ...look,
        favicons: favicon === '' ? {} : { icon: favicon },
        runMode: facts.runMode,
        deploymentType: facts.deploymentType,
        isOfflineInstaller: false,
      })
    }),
    handle(changeBranding, ({ call, body }) => change(call, chosenFields(body))),
  ]
}
