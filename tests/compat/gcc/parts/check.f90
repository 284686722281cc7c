! Checks that the Fortran programs share; see check.h.
module check
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private
  integer :: faults = 0
  public :: expect, expect_real, expect_text, expect_on_device, on_device, finish
contains
  subroutine expect(what, got, wanted)
    character(*), intent(in) :: what
    integer, intent(in) :: got, wanted
    if (got /= wanted) then
      faults = faults + 1
      print '(a, a, i0, a, i0)', what, ' is ', got, ', expected ', wanted
    end if
  end subroutine

  subroutine expect_real(what, got, wanted)
    character(*), intent(in) :: what
    real(real64), intent(in) :: got, wanted
    if (.not. abs(got - wanted) <= 0) then
      faults = faults + 1
      print '(a, a, g0, a, g0)', what, ' is ', got, ', expected ', wanted
    end if
  end subroutine

  subroutine expect_text(what, got, wanted)
    character(*), intent(in) :: what, got, wanted
    if (len(got) /= len(wanted) .or. got /= wanted) then
      faults = faults + 1
      print '(7a)', what, ' is "', got, '", expected "', wanted, '"'
    end if
  end subroutine

  logical function on_device()
    integer :: status
    call get_environment_variable('COMPAT_ON_HOST', status=status)
    on_device = status == 1
  end function

  ! Checks the result of omp_is_initial_device() in a target region.
  subroutine expect_on_device(initial)
    logical, intent(in) :: initial
    if (on_device() .and. initial) then
      faults = faults + 1
      print '(a)', 'a target region ran on the host'
    end if
  end subroutine

  subroutine finish()
    if (faults /= 0) then
      print '(i0, a)', faults, ' faults'
      stop 1
    end if
    print '(a)', 'ok'
  end subroutine
end module
