export const deploymentTypes = [
  'VendorHosted',
  'SelfHosted',
  'CloudAMarketplaceDeployment',
  'CloudBMarketplaceDeployment',
  'CloudCMarketplaceDeployment',
] as const
export type DeploymentType = (typeof deploymentTypes)[number]

/** The kind of installation. Gates use it to decide which plugins and routes exist. */
export interface Deployment {
  readonly type: DeploymentType
  readonly billingEnabled: boolean
  readonly runMode: 'production' | 'development'
}

/** The closed set of conditions under which a plugin or route exists. */
export type Gate =
  | 'always'
  | 'vendor-hosted'
  | 'vendor-or-marketplace'
  | 'billing-enabled'
  | 'vendor-billing'
  | 'cloud-a-marketplace'
  | 'cloud-c-marketplace'
  | 'any-marketplace'

const marketplaceTypes: readonly DeploymentType[] = [
  'CloudAMarketplaceDeployment',
  'CloudBMarketplaceDeployment',
  'CloudCMarketplaceDeployment',
]

const gateRules: Readonly<Record<Gate, (deployment: Deployment) => boolean>> = {
  always: () => true,
  'vendor-hosted': (d) => d.type === 'VendorHosted',
  'vendor-or-marketplace': (d) => d.type === 'VendorHosted' || marketplaceTypes.includes(d.type),
  'billing-enabled': (d) => d.billingEnabled,
  // Elsewhere a marketplace bills, or there are no contracts.
  'vendor-billing': (d) => d.billingEnabled && d.type === 'VendorHosted',
  'cloud-a-marketplace': (d) => d.type === 'CloudAMarketplaceDeployment',
  'cloud-c-marketplace': (d) => d.type === 'CloudCMarketplaceDeployment',
  'any-marketplace': (d) => marketplaceTypes.includes(d.type),
}

/** The names of all gates, for plugins that no compiler has checked. */
export const gates: readonly string[] = Object.keys(gateRules)

export const isOpen = (gate: Gate, deployment: Deployment): boolean => gateRules[gate](deployment)
