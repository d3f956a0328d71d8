"""What MONAI's users take from here: metrics, transforms and bundles in the forms that MONAI gives them."""
