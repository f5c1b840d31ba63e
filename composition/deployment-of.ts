import type { Deployment } from '../core/kernel/deployment.ts'
import type { Settings } from './settings.ts'

export const deploymentOf = ({ deploymentType, billingEnabled, runMode }: Settings): Deployment => ({
  type: deploymentType,
  billingEnabled,
  runMode,
})
