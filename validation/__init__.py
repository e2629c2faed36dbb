"""Checks of the dynamics against closed forms and MuJoCo; never imported by the package."""
