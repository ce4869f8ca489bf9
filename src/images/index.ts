export type { GenJob } from './build/gen-job.ts';
export type { GenMade } from './build/gen.ts';
export { type PackageSource, parseSources } from './build/package-sources.ts';
export { planGen } from './build/plan-gen.ts';
export type { RunJob, RunMade } from './build/run.ts';
export type { Exported, ExportJob } from './bundles/export.ts';
export type { Imported, ImportJob } from './bundles/import.ts';
export { planExport, planImport } from './bundles/plan-bundle.ts';
export { defineImage, planPull } from './containers/plan-pull.ts';
export { isContainerFile, type Pulled, type PullJob, pullWords } from './containers/pull-job.ts';
export { checkImage } from './check-image.ts';
export { type BuiltMethod, describeDiskless, describeImage, isBuiltMethod } from './describe-image.ts';
export type { ImageJob } from './image-job.ts';
export { Images } from './images.ts';
export type { Captured, CaptureJob } from './capture/capture.ts';
export { planCapture } from './capture/plan-capture.ts';
export type { KitAdded, KitJob } from './kits/add-kit.ts';
export {
  type AddOptions,
  type Choice,
  definedComponents,
  wantedComponents,
  withAdded,
  withoutNamed,
} from './kits/choose-components.ts';
export { misfit, misfitOfImage, systemOfDistro } from './kits/compatibility.ts';
export { type KitPlan, planFiles } from './kits/kit-files.ts';
export {
  type Component,
  componentOf,
  componentsNamed,
  componentsOfKit,
  componentType,
  kitsNamed,
  kitType,
  parseNeed,
  repoType,
} from './kits/kit-tables.ts';
export { deployParameters } from './kits/kit-texts.ts';
export {
  componentsOfImage,
  defineKit,
  planAddKit,
  planRemoveKit,
  reposOf,
  undefineKit,
  usersOfKit,
} from './kits/plan-kit.ts';
export type { KitRemoval, KitRemoved } from './kits/remove-kit.ts';
export type { KitFilesJob, KitFilesWritten } from './kits/write-kit-files.ts';
export { type Manifest, manifestFile, type Pack, type Part, privateName, readManifestOf } from './manifest.ts';
export type { MediumJob, MediumMade } from './media/copy-medium.ts';
export { defineImages } from './media/define-images.ts';
export { listFileFor, usualAttributes } from './media/images-made.ts';
export { packageLists } from './package-lists.ts';
export type { MediumRemoval, RemovedMedium } from './media/remove-medium.ts';
export { imagePlaces, mediumPlace, optionWords } from './media/medium-place.ts';
export { checkArch, parseName } from './media/recognise.ts';
export type { ModulesFound, ModulesJob } from './modules/list-modules.ts';
export { planModules } from './modules/plan-modules.ts';
export { packDirectory } from './pack/kept-packs.ts';
export type { PackJob } from './pack/pack-job.ts';
export { planPack } from './pack/plan-pack.ts';
export type { RollbackJob } from './pack/rollback.ts';
export type { TagJob } from './pack/tag.ts';
export { ImagePaths } from './paths.ts';
export { protectForgottenTrees, protectTrees } from './protect-trees.ts';
export { isBelow, realPlace } from './real-paths.ts';
export type { Removed } from './removal.ts';
export { imageSettings } from './settings.ts';
